"""Make the book's order, front page, tables of terms in other systems and instructor's guide from each chapter.toml.

Each list is between two marked lines of its file, and `make sync` fills it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from grader.exercise import chapters
from grader.exercise.lesson_words import lesson_words
from publish import reading_time
from publish.chapter_tables import WORLDS, WRITTEN, Called, Elsewhere
from publish.chapter_toml import Chapter, read_chapters
from publish.pages import terms

T = TypeVar("T")


@dataclass(frozen=True)
class Block:
    """The lines between the lines `first` and `last` of a file; `what` names them in a sentence."""

    first: str
    last: str
    lines: list[str]
    what: str = "the list of chapters"


@dataclass
class Lists:
    """The blocks of each file, and a sentence for each problem of the chapters."""

    blocks: dict[Path, list[Block]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def fill(self, path: Path, text: str) -> str:
        """Return the text of a file with correct blocks. Raises ValueError if a line around a block is missing."""
        for block in self.blocks.get(path, []):
            text = _between(text, block)
        return text


def lists(root: Path) -> Lists:
    """Return the lists of the chapters below `root`; a missing file is left out."""
    all_chapters, problems = read_chapters(root / "lessons")
    problems += [sentence for chapter in all_chapters for sentence in _unknown_mistakes(root, chapter)]
    if problems or not chapters.lessons_in(root / "lessons"):
        return Lists(problems=problems)
    toc = root / "_toc.yml"
    blocks = {toc: [_part(all_chapters, part) for part in _parts(toc, all_chapters)]}
    for edition in WRITTEN:
        items = ["", *_items(root, all_chapters, edition), ""]
        blocks[root / "book" / edition / "index.md"] = [Block("% chapters", "% end chapters", items)]
        guide = ["", *_guide(root, all_chapters, edition), ""]
        blocks[root / "book" / edition / "teaching.md"] = [Block("% lessons", "% end lessons", guide)]
        names = ["", *_elsewhere_page(all_chapters, edition), ""]
        blocks[root / "book" / edition / "elsewhere.md"] = [_elsewhere_block(names)]
        for chapter in all_chapters:
            if chapter.elsewhere:
                lines = ["", *_elsewhere_section(chapter, edition), ""]
                blocks[root / "book" / edition / f"{chapter.lesson}.md"] = [_elsewhere_block(lines)]
    problems += [
        sentence for chapter in all_chapters for sentence in (*_untitled(root, chapter), *_uncaptioned(root, chapter))
    ]
    return Lists({path: listed for path, listed in blocks.items() if path.exists()}, problems)


def _untitled(root: Path, chapter: Chapter) -> Iterator[str]:
    """Yield a finding for a chapter with a page in a language but no title, since lists would use the other title."""
    for edition in WRITTEN:
        page = f"book/{edition}/{chapter.lesson}.md"
        if edition not in chapter.title and (root / page).exists():
            where = f"lessons/{chapter.lesson}/{chapters.FILE}: title.{edition}"
            yield f"{where} is missing, but {page} exists: write it"


def _uncaptioned(root: Path, chapter: Chapter) -> Iterator[str]:
    """Yield a finding for a caption of a missing cell: its picture would get a different caption."""
    demo = root / "lessons" / chapter.lesson / "demo.py"
    cells = re.findall(r"(?m)^# %% (\S+)", demo.read_text("utf-8")) if demo.exists() else []
    for row in chapter.figures:
        if row.cell not in cells:
            where = f"lessons/{chapter.lesson}/{chapters.FILE}"
            yield f"{where}: [[figures]] has a caption for `{row.cell}`, but demo.py in this folder has no such cell"


def _elsewhere_block(lines: list[str]) -> Block:
    return Block("% elsewhere", "% end elsewhere", lines, "the table of names in other systems")


def _part(all_chapters: list[Chapter], part: int) -> Block:
    lines = [f"      - file: {c.lesson}" for c in all_chapters if c.part == part]
    return Block(f"# chapters of part {part}", "# end chapters", lines)


def _parts(toc: Path, all_chapters: list[Chapter]) -> list[int]:
    """Return the parts of the book: those of its chapters, and those for which _toc.yml has a list."""
    numbers = re.findall(r"# chapters of part (\d+)", toc.read_text("utf-8")) if toc.exists() else []
    return sorted({*map(int, numbers), *(c.part for c in all_chapters)})


def _between(text: str, block: Block) -> str:
    old = text.split("\n")
    bare = [line.strip() for line in old]
    if block.first not in bare or block.last not in bare[bare.index(block.first) :]:
        raise ValueError(f"{block.what} needs a line `{block.first}` and a line `{block.last}` below it")
    start = bare.index(block.first) + 1
    end = bare.index(block.last, start)
    return "\n".join([*old[:start], *block.lines, *old[end:]])


def _items(root: Path, all_chapters: list[Chapter], edition: str) -> Iterator[str]:
    """Yield the list of a front page: each chapter with its minutes and, below it, what readers learn."""
    item = terms.ui()["chapter_item"][edition]
    for chapter in all_chapters:
        able = chapter.titled(edition)
        read = reading_time.minutes(chapter.lesson, root)
        yield "- " + item.format(page=f"{{doc}}`{chapter.lesson}`", read=read, solve=chapter.solve)
        yield from ("", f"  {able[:1].upper()}{able[1:]}{'.' if edition == 'en' else '。'}")


def _elsewhere_section(chapter: Chapter, edition: str) -> Iterator[str]:
    """Yield the lines of a chapter's section: heading, table, and a link to the page with all tables."""
    ui = terms.ui()
    yield f"({_elsewhere_label(chapter)})="
    yield f"## {ui['elsewhere'][edition]}"
    yield ""
    yield from _elsewhere_table(chapter.elsewhere, edition)
    yield ""
    yield ui["elsewhere_all"][edition]


def _elsewhere_page(all_chapters: list[Chapter], edition: str) -> Iterator[str]:
    """Yield the lines of the page of all chapters: the tables in the order of the book, then the index."""
    ui = terms.ui()
    for chapter in all_chapters:
        if chapter.elsewhere:
            yield f"(sec-elsewhere-ch{chapter.number:02})="
            yield f"## {{doc}}`{chapter.lesson}`"
            yield ""
            yield from _elsewhere_table(chapter.elsewhere, edition)
            yield ""
    yield "(sec-elsewhere-index)="
    yield f"## {ui['elsewhere_index'][edition]}"
    yield ""
    for word, where in sorted(_words_index(all_chapters, edition).items(), key=lambda item: (item[0].lower(), item[0])):
        links = [f"{{ref}}`{ui['chapter'][edition].format(c.number)} <{_elsewhere_label(c)}>`" for c in where]
        yield f"- {word}{ui['elsewhere_colon'][edition]}{ui['elsewhere_and'][edition].join(links)}"


def _elsewhere_label(chapter: Chapter) -> str:
    return f"sec-ch{chapter.number:02}-elsewhere"


def _words_index(all_chapters: list[Chapter], edition: str) -> dict[str, list[Chapter]]:
    """Return the chapters of each word, in their order."""
    index: dict[str, list[Chapter]] = {}
    for chapter in all_chapters:
        for word in dict.fromkeys(word for row in chapter.elsewhere for word in row.words[edition]):
            index.setdefault(word, []).append(chapter)
    return index


def _elsewhere_table(rows: tuple[Elsewhere, ...], edition: str) -> Iterator[str]:
    """Yield the rows; a system that has no word for any of the terms gets no column."""
    ui = terms.ui()
    worlds = [name for name in WORLDS if any(getattr(row, name) for row in rows)]
    yield f"| {' | '.join(ui[f'elsewhere_{name}'][edition] for name in ('here', *worlds))} |"
    yield f"|{'---|' * (1 + len(worlds))}"
    for row in rows:
        cells = [row.here[edition], *(_called(getattr(row, name), edition) for name in worlds)]
        yield f"| {' | '.join(cells)} |"


def _called(called: Called | None, edition: str) -> str:
    if not called:
        return "—"
    kind = "elsewhere_a_paper" if called.source.startswith("https://arxiv.org/") else "elsewhere_source"
    return f"{called.said[edition]} [{terms.ui()[kind][edition]}]({called.source})"


def _guide(root: Path, all_chapters: list[Chapter], edition: str) -> Iterator[str]:
    """Yield a list item for each chapter: its goal and minutes, questions to ask, and frequent mistakes."""
    ui = terms.ui()
    for chapter in all_chapters:
        read = reading_time.minutes(chapter.lesson, root)
        times = ui["teach_minutes"][edition].format(read=read, solve=chapter.solve)
        yield f"- {{doc}}`{chapter.lesson}` {times}"
        if (teaching := chapter.teaching) is None:
            continue
        yield f"  - {_in(teaching.goal, edition)}"
        yield f"  - {ui['teach_ask'][edition]}{ui['teach_between'][edition].join(_in(teaching.ask, edition))}"
        wrong = [_mistake(root / "lessons" / chapter.lesson, name, edition) for name in teaching.wrong]
        yield f"  - {ui['teach_wrong'][edition]}{ui['teach_and'][edition].join(wrong)}"


def _unknown_mistakes(root: Path, chapter: Chapter) -> list[str]:
    """Return a sentence for each mistake that a chapter expects although no words.toml names it."""
    folder, problems = root / "lessons" / chapter.lesson, []
    for name in chapter.teaching.wrong if chapter.teaching else []:
        try:
            _mistake(folder, name, "en")
        except (KeyError, ValueError):
            problems.append(f"lessons/{chapter.lesson}/chapter.toml: wrong: words.toml has no mistake `{name}`")
    return problems


def _mistake(folder: Path, name: str, edition: str) -> str:
    """Return a mistake's name, and the exercise in which it is made. Raises KeyError for an unknown mistake."""
    exercise, _, mistake = name.partition(".")
    texts = lesson_words(folder)[exercise]
    mistake_name = _in(texts.mistakes[f"{exercise}__{mistake}"].name, edition)
    return terms.ui()["teach_mistake"][edition].format(exercise=_in(texts.title, edition), mistake=mistake_name)


def _in(texts: Mapping[str, T], edition: str) -> T:
    """Return the text in this language, or else in a different one. Raises KeyError if there is none."""
    return texts[edition if edition in texts else next(iter(texts), edition)]
