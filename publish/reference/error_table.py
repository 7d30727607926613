"""List every error in the outputs of cells: each is a heading, so that a search for a pasted error finds it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from publish.reference import places
from publish.reference.places import Edition

_PROCESS = re.compile(r"(?:\[\d+\]|\d+:) ")  # the process that printed the line, in minipod's clusters and in Slurm's
_PYTHON = re.compile(r"(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning)(?::? .*)?")
_RUNTIME = re.compile(r"(?:… )?(?:UNAVAILABLE|DEADLINE_EXCEEDED|INVALID_ARGUMENT): .+")
_FATAL = re.compile(r"[EF]\d{4} \S+ +\d+ [\w.]+:\d+\] (.+)")  # a line of the C++ log: the text after time and place
_TOOL = re.compile(r"(?:srun|sbatch): error: .+")
_TASK = re.compile(r"\w+: task \d+: ")  # the same message comes from each task
WIDTH = 78  # at which outputs are wrapped
ROOM = 110  # characters of a heading


@dataclass
class ShownError:
    """An error as a cell shows it.

    kind    "Python", or "runtime" if it comes from below Python or from a different program
    lines   its lines as printed, without the mark of the process
    places  page and label of each place that shows it
    """

    kind: str
    lines: list[str]
    places: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the message in one line, as it was before wrapping."""
        return " ".join(self.lines)

    @property
    def heading(self) -> str:
        """Return as much of the text as a heading has room for."""
        return self.text if len(self.text) <= ROOM else self.text[: self.text.rfind(" ", 0, ROOM)] + " …"


def lines(edition: Edition) -> Iterator[str]:
    """Yield the page: each error, by kind, with links to the places that show and explain it."""
    errors = shown(edition)
    for kind in ("Python", "runtime"):
        yield f"(sec-errors-{kind.lower()})="
        yield f"## {edition.words(f'errors_{kind.lower()}')}"
        yield ""
        for error in sorted((e for e in errors if e.kind == kind), key=lambda e: e.heading.lower()):
            yield f"({label(error)})="
            yield f"### {places.verbatim(error.heading)}"
            yield ""
            if error.heading != error.text:
                yield from ("```text", *error.lines, "```", "")
            yield edition.words("errors_where").format(edition.links(error.places))
            yield ""


def label(error: ShownError) -> str:
    """Return a label made from the error's text, so that it stays the same when errors are added."""
    return "err-" + "-".join(re.findall(r"[a-z0-9]+", error.lines[0].lower()))


def shown(edition: Edition) -> list[ShownError]:
    """Return the errors of all pages, in the order of the book; errors with the same first line are merged."""
    errors: dict[str, ShownError] = {}
    for source in edition.sources:
        for cell, outputs in zip(source.page.cells, source.executed.outputs, strict=False):
            for output in outputs:
                data = output.get("data", {}).get("text/plain", "")
                for kind, text in in_text("".join(output.get("text", "")) or "".join(data)):
                    error = errors.setdefault(_TASK.sub("", text[0]), ShownError(kind, text))
                    where = (source.name, places.shown_in(source.page, cell))
                    if where not in error.places:
                        error.places.append(where)
    return list(errors.values())


def in_text(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the errors in the output of a cell: kind and lines."""
    marked = [_PROCESS.match(line) for line in text.split("\n")]
    bare = [line[m.end() :] if m else line for line, m in zip(text.split("\n"), marked, strict=True)]
    for number, line in enumerate(bare):
        if m := _FATAL.match(line):
            yield "runtime", [m[1]]
        elif _RUNTIME.fullmatch(line):
            yield "runtime", _whole(bare, number)
        elif _TOOL.fullmatch(line):
            yield "runtime", _whole(bare, number)
        elif _PYTHON.fullmatch(line):
            if re.fullmatch(r"\w+Warning", line) and bare[number + 1 : number + 2]:
                yield "Python", [f"{line}: {bare[number + 1]}"]
            else:
                yield "Python", _whole(bare, number)


def _whole(lines: list[str], number: int) -> list[str]:
    """Return a line together with the lines into which it was wrapped."""
    whole = [lines[number].removeprefix("… ").removesuffix(" (without a message)")]
    for before, line in zip(lines[number:], lines[number + 1 :], strict=False):
        full = len(before) <= WIDTH < len(before) + 1 + len((line.split() or [""])[0]) and not before.endswith(
            (".", ")")
        )
        if not line.strip() or line.startswith("exit status") or not (full or line.startswith("    ")):
            break
        whole.append(line.strip())
    return whole
