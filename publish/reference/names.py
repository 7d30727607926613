"""Make the page of names: every name of JAX and of minipod that the book's code uses, and where."""

from collections.abc import Iterator

from publish.reference import toolkit
from publish.reference.places import Edition
from publish.reference.usage import Uses, used


def lines(edition: Edition) -> Iterator[str]:
    """Yield the page: for each module its names, and where they are used."""
    uses = used(edition)
    explained = toolkit.labels()
    for module in modules(uses):
        yield f"({label(module)})="
        yield f"## `{module}`"
        yield ""
        for name in sorted(n for n in uses if n.rpartition(".")[0] == module):
            short = f"`{name.rpartition('.')[2]}`"
            if name in explained:
                short = f"{{ref}}`{name.rpartition('.')[2]} <{explained[name]}>`"
            yield short
            yield f": {edition.links(uses[name])}"
            yield ""


def label(module: str) -> str:
    return "names-" + module.replace(".", "-").replace("_", "-")


def modules(uses: Uses) -> list[str]:
    """Return the groups of the names, JAX first."""
    return sorted({name.rpartition(".")[0] for name in uses}, key=lambda m: (m.split(".")[0], m))
