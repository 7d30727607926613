"""What belongs to one chapter, file by file, and what of it is missing or does not fit the rest."""

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.exercise import chapters
from publish.chapter_tables import WRITTEN
from publish.chapter_toml import read_chapter

MISTAKES, HINTS, UNLISTED = 3, 3, 10  # the fewest: of an exercise, of an exercise, of a chapter
ELSEWHERE = 3  # of a chapter, too


@dataclass(frozen=True)
class Finding:
    """Something wrong in a chapter: where, a path and perhaps a function in it, and what.

    unreadable  nobody can tell what the file holds
    """

    where: str
    text: str
    unreadable: bool = False

    @classmethod
    def read(cls, sentence: str) -> "Finding":
        """From `where: what`, as another tool says it."""
        where, _, text = sentence.partition(": ")
        return cls(where, text)

    def __str__(self) -> str:
        return f"{self.where}: {' '.join(self.text.split())}"


@dataclass(frozen=True)
class ChapterFiles:
    """Where the parts of `lesson`, such as ch03_sharding, stand below `root`."""

    root: Path
    lesson: str

    @property
    def folder(self) -> Path:
        return self.root / "lessons" / self.lesson

    @property
    def blanks(self) -> Path:
        return self.folder / "exercises.py"

    @property
    def checks(self) -> Path:
        return self.folder / "test_exercises.py"

    @property
    def mistakes(self) -> Path:
        return self.folder / "mistakes.py"

    @property
    def words(self) -> Path:
        return self.folder / "words.toml"

    @property
    def solution(self) -> Path:
        return self.root / "solutions" / f"{self.lesson}.py"

    @property
    def others(self) -> Path:
        """What no learner sees: answers that the checks are tried on."""
        return self.folder / "others"

    @property
    def right(self) -> list[Path]:
        """The exercises solved in another way, and in a third where the way of writing tells."""
        return [self.others / "right_a.py", self.others / "right_b.py"]

    @property
    def wrong(self) -> Path:
        """Known mistakes written a second time, where the way of writing tells."""
        return self.others / "wrong.py"

    @property
    def unlisted(self) -> Path:
        """Wrong answers that are no known mistakes."""
        return self.others / "unlisted.py"

    @property
    def facts(self) -> Path:
        return self.folder / chapters.FILE

    @property
    def pages(self) -> list[Path]:
        """Of the book, in each language that is written; one of them may not be there yet."""
        return [self.root / "book" / language / f"{self.lesson}.md" for language in WRITTEN]

    @property
    def python(self) -> list[Path]:
        """Every Python file that a chapter has to have, then those that some need not."""
        own = [self.folder / "demo.py", self.blanks, self.checks, self.mistakes]
        return [*own, self.solution, self.right[0], self.unlisted, self.right[1], self.wrong]

    @property
    def optional(self) -> list[Path]:
        """Of these, what a chapter has where an exercise asks for it."""
        return [self.right[1], self.wrong]

    def place(self, path: Path, function: str = "") -> str:
        """How a finding names a file of the chapter, or a function in it."""
        return path.relative_to(self.root).as_posix() + (f" {function}" if function else "")


def functions(path: Path) -> list[str]:
    """The public functions at the top of a file, in order; none where there is no such file, or it does not parse."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    return [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]


def mistakes_of(path: Path) -> list[str]:
    """The functions `exercise__why` of a file, in order."""
    return [name for name in functions(path) if "__" in name]


def incomplete(chapter: ChapterFiles) -> list[Finding]:
    """What the chapter lacks, and what of it does not fit the rest; nothing of it is run."""
    found = list(_unreadable(chapter))
    if any(finding.unreadable for finding in found):
        return found
    return [*found, *_facts(chapter), *_exercises(chapter), *_mistakes(chapter), *_words(chapter), *_pages(chapter)]


def _unreadable(chapter: ChapterFiles) -> Iterator[Finding]:
    for path in [*chapter.python, chapter.words]:
        parse: Callable[[str], object] = tomllib.loads if path == chapter.words else ast.parse
        try:
            parse(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            if path not in chapter.optional:
                yield Finding(chapter.place(path), "is missing")
        except SyntaxError as error:
            yield Finding(chapter.place(path), f"line {error.lineno}: {error.msg}", True)
        except (OSError, ValueError) as error:
            yield Finding(chapter.place(path), f"cannot be read: {error}", True)


def _facts(chapter: ChapterFiles) -> Iterator[Finding]:
    try:
        facts = read_chapter(chapter.folder)
    except ValueError as error:
        yield Finding.read(str(error))
        return
    where = chapter.place(chapter.facts)
    if facts.teaching is None:
        yield Finding(where, "[teaching] is missing: what to say to instructors, as the neighbours have it")
    if (several := len(facts.elsewhere)) < ELSEWHERE:
        yield Finding(
            where, f"has {several} tables [[elsewhere]]; {ELSEWHERE} are the least: what others call its things"
        )


def _exercises(chapter: ChapterFiles) -> Iterator[Finding]:
    names = functions(chapter.blanks)
    if not names and chapter.blanks.exists():
        yield Finding(chapter.place(chapter.blanks), "holds no exercise")
    tested = [name.removeprefix("test_") for name in functions(chapter.checks) if name.startswith("test_")]
    yield from _same(chapter, chapter.checks, sorted(tested), sorted(names), "test for {}")
    yield from _same(chapter, chapter.solution, functions(chapter.solution), names)


def _mistakes(chapter: ChapterFiles) -> Iterator[Finding]:
    names, known = functions(chapter.blanks), mistakes_of(chapter.mistakes)
    for path in (chapter.mistakes, chapter.wrong, chapter.unlisted):
        for name in mistakes_of(path):
            if name.partition("__")[0] not in names:
                yield Finding(chapter.place(path, name), "belongs to no exercise")
    for name in names if chapter.mistakes.exists() else []:
        few = sum(mistake.startswith(f"{name}__") for mistake in known)
        if few < MISTAKES:
            yield Finding(chapter.place(chapter.mistakes), f"{name} has {few} mistakes; {MISTAKES} are the least")
    again = mistakes_of(chapter.wrong)
    yield from _same(chapter, chapter.wrong, sorted(again), sorted({*known} & {*again}))
    several = len(mistakes_of(chapter.unlisted))
    if chapter.unlisted.exists() and several < UNLISTED:
        yield Finding(chapter.place(chapter.unlisted), f"holds {several} wrong answers; {UNLISTED} are the least")


def _words(chapter: ChapterFiles) -> Iterator[Finding]:
    """Title, hints, and every mistake's name and text, in one language at least."""
    try:
        words = tomllib.loads(chapter.words.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    names, known = functions(chapter.blanks), mistakes_of(chapter.mistakes)
    yield from _same(chapter, chapter.words, list(words), names, "entry [{}]")
    for name in [n for n in names if n in words]:
        said = _get(words, name, "mistakes")
        explained = sorted(f"{name}__{mistake}" for mistake in said) if isinstance(said, dict) else []
        listed = sorted(mistake for mistake in known if mistake.startswith(f"{name}__"))
        yield from _same(chapter, chapter.words, explained, listed, "words for {}")
        yield from _hints(chapter, name, _get(words, name, "hints"))
        for keys in [("title",), *(("mistakes", m, key) for m in said or {} for key in ("name", "text"))]:
            there = _get(words, name, *keys)
            if not isinstance(there, dict) or not any(there.get(language) for language in WRITTEN):
                yield Finding(chapter.place(chapter.words), f"{'.'.join((name, *keys))} is missing")


def _hints(chapter: ChapterFiles, name: str, hints: Any) -> Iterator[Finding]:
    """As many in each language that has some; what one lacks whole is no finding."""
    several = {language: len(_get(hints, language) or []) for language in WRITTEN}
    least = max(HINTS, *several.values())
    for language, count in several.items():
        if count < least and (count or not any(several.values())):
            where = chapter.place(chapter.words)
            yield Finding(where, f"{name} has {count} hints in {language}; {least} are needed")


def _pages(chapter: ChapterFiles) -> Iterator[Finding]:
    """The exercises have their place on each page, in their order."""
    if not any(page.exists() for page in chapter.pages):
        yield Finding(chapter.place(chapter.pages[0]), "is missing")
    for page in [page for page in chapter.pages if page.exists()]:
        shown = re.findall(r"(?m)^% exercise: *(\w+) *$", page.read_text(encoding="utf-8"))
        yield from _same(chapter, page, shown, functions(chapter.blanks), "line «% exercise: {}»")


def _same(chapter: ChapterFiles, path: Path, has: list[str], wanted: list[str], what: str = "{}") -> Iterator[Finding]:
    """Findings where a file that there is does not have the names it should, in their order."""
    if not path.exists() or has == wanted:
        return
    where = chapter.place(path)
    yield from (Finding(where, f"has no {what.format(name)}") for name in wanted if name not in has)
    yield from (Finding(where, f"{what.format(name)} is one too many") for name in has if name not in wanted)
    if set(has) == set(wanted):
        again = sorted({name for name in has if has.count(name) > 1})
        text = f"has {', '.join(again)} twice" if again else f"has another order than exercises.py: {', '.join(has)}"
        yield Finding(where, text)


def _get(words: Any, *keys: str) -> Any:
    for key in keys:
        words = words.get(key) if isinstance(words, dict) else None
    return words
