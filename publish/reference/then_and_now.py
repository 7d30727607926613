"""List what has changed in JAX: the rows of book/then_and_now.toml, old names, and every box "Then and now"."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.exercise import chapters
from publish.page import ROOT
from publish.reference import places
from publish.reference.places import Edition

NAMES = "sec-then-names"  # the section of old names: the search has each of them
FILE = ROOT / "book" / "then_and_now.toml"


@dataclass(frozen=True)
class Row:
    """A change in JAX. then, now: code, or words by language. label: the place that shows it."""

    then: dict[str, str]
    now: dict[str, str]
    label: str


@dataclass(frozen=True)
class Name:
    """A name that old code imports. gone: the first JAX without it, "" if it still exists. now: by language."""

    old: str
    gone: str
    now: dict[str, str]
    label: str


def rows() -> list[Row]:
    """Return the rows in the order of the file."""
    table = places.read(FILE)["row"]
    return [Row(_both(row["then"]), _both(row["now"]), row["label"]) for row in table]


def names() -> list[Name]:
    """Return the old names in the order of the file."""
    return [Name(row["old"], row.get("gone", ""), _both(row["now"]), row["label"]) for row in places.read(FILE)["name"]]


def _both(words: str | dict[str, str]) -> dict[str, str]:
    return {"en": words, "zh-Hans": words} if isinstance(words, str) else words


def _table(edition: Edition, head: list[str]) -> Iterator[str]:
    yield f"| {' | '.join(map(edition.words, head))} |"
    yield "|---" * len(head) + "|"


def _chapter(edition: Edition, label: str) -> str:
    """Return the number of a chapter, as a link to the label."""
    number = int(label.partition("ch")[2][:2]) if label.startswith("box-ch") else edition.chapter(label)
    return edition.link(label, str(number))


def lines(edition: Edition) -> Iterator[str]:
    """Yield the page: both tables, then the boxes by chapter."""
    yield from _table(edition, ["then_then", "then_now", "table_chapter"])
    for row in rows():
        yield f"| {edition.text(row.then)} | {edition.text(row.now)} | {_chapter(edition, row.label)} |"
    yield ""
    yield f"({NAMES})="
    yield f"## {edition.words('then_names')}"
    yield ""
    yield edition.words("then_names_lead")
    yield ""
    yield from _table(edition, ["then_import", "then_until", "then_instead", "table_chapter"])
    for name in names():
        since = edition.words("then_gone").format(name.gone) if name.gone else edition.words("then_there")
        yield f"| `{name.old}` | {since} | {edition.text(name.now)} | {_chapter(edition, name.label)} |"
    yield ""
    yield "(sec-then-boxes)="
    yield f"## {edition.words('then_boxes')}"
    yield ""
    for source in edition.sources:
        changes = [box for box in places.boxes(source.page) if box.kind == "then-and-now"]
        if changes and (chapter := chapters.NAME.fullmatch(source.name)):
            for box in changes:
                yield f"- {int(chapter[1])} · {edition.link(box.label, edition.text_of(box.title))}"
