"""What has changed in JAX: rows of book/then_and_now.toml, and below them every box «Then and now» of the pages."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.exercise import chapters
from publish.page import ROOT
from publish.reference import places
from publish.reference.places import Edition

FILE = ROOT / "book" / "then_and_now.toml"


@dataclass(frozen=True)
class Row:
    """then, now: code or words by language. page, label: what shows it."""

    then: dict[str, str]
    now: dict[str, str]
    label: str


def rows() -> list[Row]:
    """The rows in the order of the file."""
    table = places.read(FILE)["row"]
    return [Row(_both(row["then"]), _both(row["now"]), row["label"]) for row in table]


def _both(said: str | dict[str, str]) -> dict[str, str]:
    return {"en": said, "zh-Hans": said} if isinstance(said, str) else said


def lines(edition: Edition) -> Iterator[str]:
    """The page: the table, then the boxes by chapter."""
    head = [edition.words(name) for name in ("then_then", "then_now", "table_chapter")]
    yield f"| {' | '.join(head)} |"
    yield "|---|---|---|"
    for row in rows():
        number = int(row.label.partition("ch")[2][:2]) if row.label.startswith("box-ch") else edition.chapter(row.label)
        link = edition.link(row.label, str(number))
        yield f"| {edition.text(row.then)} | {edition.text(row.now)} | {link} |"
    yield ""
    yield "(sec-then-boxes)="
    yield f"## {edition.words('then_boxes')}"
    yield ""
    for source in edition.sources:
        found = [box for box in places.boxes(source.page) if box.kind == "then-and-now"]
        if found and (chapter := chapters.NAME.fullmatch(source.name)):
            for box in found:
                yield f"- {int(chapter[1])} · {edition.link(box.label, edition.text_of(box.title))}"
