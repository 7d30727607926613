"""The lists of chapters that lessons/*/chapter.toml make: the order of the book, the list on its front page, and
the tables of other pages.

Each stands between two lines of its file, and `make sync` fills it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grader.exercise import chapters
from publish.chapter_tables import WRITTEN
from publish.chapter_toml import Chapter, read_chapters
from publish.lists import elsewhere, teaching
from publish.pages import terms


@dataclass(frozen=True)
class Block:
    """The lines that stand between the lines `first` and `last` of a file; `what` names them in a sentence."""

    first: str
    last: str
    lines: list[str]
    what: str = "the list of chapters"


@dataclass
class Lists:
    """The blocks of each file that has some, and what is wrong with the chapters."""

    blocks: dict[Path, list[Block]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def fill(self, path: Path, text: str) -> str:
        """The text of a file with its blocks as they should be. ValueError where it lacks a line around one."""
        for block in self.blocks.get(path, []):
            text = _between(text, block)
        return text


def lists(root: Path) -> Lists:
    """The lists of the chapters below `root`; a file that is not there is left out."""
    found, problems = read_chapters(root / "lessons")
    problems += [sentence for chapter in found for sentence in teaching.unknown(root, chapter)]
    if problems or not chapters.lessons_in(root / "lessons"):
        return Lists(problems=problems)
    toc = root / "_toc.yml"
    blocks = {toc: [_part(found, part) for part in _parts(toc, found)]}
    for edition in WRITTEN:
        items = ["", *_items(found, edition), ""]
        blocks[root / "book" / edition / "index.md"] = [Block("% chapters", "% end chapters", items)]
        guide = ["", *teaching.lessons(root, found, edition), ""]
        blocks[root / "book" / edition / f"{teaching.PAGE}.md"] = [Block("% lessons", "% end lessons", guide)]
        names = ["", *elsewhere.gathered(found, edition), ""]
        blocks[root / "book" / edition / f"{elsewhere.PAGE}.md"] = [_elsewhere(names)]
        for chapter in found:
            if chapter.elsewhere:
                lines = ["", *elsewhere.section(chapter, edition), ""]
                blocks[root / "book" / edition / f"{chapter.lesson}.md"] = [_elsewhere(lines)]
    problems += [
        sentence for chapter in found for sentence in (*_untitled(root, chapter), *_uncaptioned(root, chapter))
    ]
    return Lists({path: there for path, there in blocks.items() if path.exists()}, problems)


def _untitled(root: Path, chapter: Chapter) -> Iterator[str]:
    """A chapter with a page in a language, and no title: its lists would say the other language's."""
    for edition in WRITTEN:
        page = f"book/{edition}/{chapter.lesson}.md"
        if edition not in chapter.title and (root / page).exists():
            where = f"lessons/{chapter.lesson}/{chapters.FILE}: title.{edition}"
            yield f"{where} is missing, and {page} is there: write it"


def _uncaptioned(root: Path, chapter: Chapter) -> Iterator[str]:
    """A caption of a cell that is not there: the picture would say something else."""
    demo = root / "lessons" / chapter.lesson / "demo.py"
    there = re.findall(r"(?m)^# %% (\S+)", demo.read_text("utf-8")) if demo.exists() else []
    for row in chapter.figures:
        if row.cell not in there:
            where = f"lessons/{chapter.lesson}/{chapters.FILE}"
            yield f"{where}: [[figures]] has a caption for «{row.cell}», and demo.py beside it has no such cell"


def _elsewhere(lines: list[str]) -> Block:
    return Block("% elsewhere", "% end elsewhere", lines, "what others call its things")


def _part(found: list[Chapter], part: int) -> Block:
    lines = [f"      - file: {c.lesson}" for c in found if c.part == part]
    return Block(f"# chapters of part {part}", "# end chapters", lines)


def _parts(toc: Path, found: list[Chapter]) -> list[int]:
    """The parts of the book: those of its chapters, and those that _toc.yml has room for."""
    there = re.findall(r"# chapters of part (\d+)", toc.read_text("utf-8")) if toc.exists() else []
    return sorted({*map(int, there), *(c.part for c in found)})


def _between(text: str, block: Block) -> str:
    old = text.split("\n")
    bare = [line.strip() for line in old]
    if block.first not in bare or block.last not in bare[bare.index(block.first) :]:
        raise ValueError(f"{block.what} needs a line «{block.first}» and a line «{block.last}» below it")
    start = bare.index(block.first) + 1
    end = bare.index(block.last, start)
    return "\n".join([*old[:start], *block.lines, *old[end:]])


def _items(found: list[Chapter], edition: str) -> Iterator[str]:
    """The list of a front page: each chapter with its minutes, and below it what one will be able to do."""
    item = terms.ui()["chapter_item"][edition]
    for chapter in found:
        able = chapter.titled(edition)
        yield "- " + item.format(page=f"{{doc}}`{chapter.lesson}`", read=chapter.read, solve=chapter.solve)
        yield from ("", f"  {able[:1].upper()}{able[1:]}{'.' if edition == 'en' else '。'}")
