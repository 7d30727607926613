"""Make a page for printing with the calls that the book teaches, one line each, from book/cheat_sheet.toml."""

from collections.abc import Iterator
from dataclasses import dataclass

from publish.page import ROOT
from publish.reference import places
from publish.reference.places import Edition

FILE = ROOT / "book" / "cheat_sheet.toml"


@dataclass(frozen=True)
class Call:
    """A line of code, what it does by language, and the section that teaches it."""

    code: str
    says: dict[str, str]
    label: str


@dataclass(frozen=True)
class Group:
    """Calls under a title, by language. where: at the "top", "inside" a function under shard_map, in "processes"."""

    title: dict[str, str]
    calls: list[Call]
    where: str = "top"


def groups() -> list[Group]:
    """Return the groups in the order of the file, in which every line runs after those above it."""
    table = places.read(FILE)["group"]
    return [
        Group(group["title"], [Call(**call) for call in group["call"]], group.get("where", "top")) for group in table
    ]


def lines(edition: Edition) -> Iterator[str]:
    """Yield the page: a table for each group."""
    for number, group in enumerate(groups(), 1):
        yield f"(sec-cheat-{number})="
        yield f"## {edition.text(group.title)}"
        yield ""
        yield f"| {edition.words('cheat_code')} | {edition.words('cheat_what')} |"
        yield "|---|---|"
        for call in group.calls:
            yield f"| `{call.code}` | {edition.link(call.label, edition.text(call.says))} |"
        yield ""
