"""Find the files of a chapter, and report what is missing in them or does not fit the rest."""

import ast
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.exercise import chapters
from publish.chapter_tables import WRITTEN
from publish.chapter_toml import read_chapter

MISTAKES, HINTS = 3, 3  # the fewest that an exercise may have
RIGHT = "right"  # the name of a further right answer continues with it: rows_of__right, rows_of__right_by_hand


@dataclass(frozen=True)
class Finding:
    """A fault in a chapter. where: a path, perhaps with a function in it. unreadable: the file cannot be parsed."""

    where: str
    text: str
    unreadable: bool = False

    @classmethod
    def read(cls, sentence: str) -> "Finding":
        """Parse `where: what`, a line of another check."""
        where, _, text = sentence.partition(": ")
        return cls(where, text)

    def __str__(self) -> str:
        return f"{self.where}: {' '.join(self.text.split())}"


@dataclass(frozen=True)
class ChapterFiles:
    """The paths of the chapter `lesson`, such as ch03_sharding, in the project `root`."""

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
    def other_answers(self) -> Path:
        """Return the file of right and wrong answers that test the check; no learner sees it, and it may be missing."""
        return self.root / "tests" / "data" / "other_answers" / f"{self.lesson}.py"

    @property
    def facts(self) -> Path:
        return self.folder / chapters.FILE

    @property
    def pages(self) -> list[Path]:
        """Return the page of the book in each written language; some pages may be missing."""
        return [self.root / "book" / language / f"{self.lesson}.md" for language in WRITTEN]

    @property
    def python(self) -> list[Path]:
        """Return the Python files that a chapter must have."""
        return [self.folder / "demo.py", self.blanks, self.checks, self.mistakes, self.solution]

    def place(self, path: Path, function: str = "") -> str:
        """Return the name that findings use for a file of the chapter, or for a function in it."""
        return path.relative_to(self.root).as_posix() + (f" {function}" if function else "")


def functions(path: Path) -> list[str]:
    """Return the public top-level functions of a file, in order; none if it is missing or does not parse."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    return [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]


def mistakes_of(path: Path) -> list[str]:
    """Return the functions `exercise__why` of a file, in order."""
    return [name for name in functions(path) if "__" in name]


def incomplete(chapter: ChapterFiles) -> list[Finding]:
    """Return what the chapter lacks, and where its files disagree; nothing is run."""
    findings = list(_unreadable(chapter))
    if any(finding.unreadable for finding in findings):
        return findings
    return [*findings, *_facts(chapter), *_exercises(chapter), *_mistakes(chapter), *_words(chapter)]


def _unreadable(chapter: ChapterFiles) -> Iterator[Finding]:
    for path in [*chapter.python, chapter.other_answers, chapter.words]:
        parse: Callable[[str], object] = tomllib.loads if path == chapter.words else ast.parse
        try:
            parse(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            if path != chapter.other_answers:
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
    if facts.teaching is None:
        where = chapter.place(chapter.facts)
        yield Finding(where, "[teaching] is missing: write what instructors should know, as in the other chapters")


def _exercises(chapter: ChapterFiles) -> Iterator[Finding]:
    names = functions(chapter.blanks)
    if not names and chapter.blanks.exists():
        yield Finding(chapter.place(chapter.blanks), "contains no exercise")
    tested = [name.removeprefix("test_") for name in functions(chapter.checks) if name.startswith("test_")]
    yield from _same(chapter, chapter.checks, sorted(tested), sorted(names), "test for {}")
    yield from _same(chapter, chapter.solution, functions(chapter.solution), names)


def _mistakes(chapter: ChapterFiles) -> Iterator[Finding]:
    names, mistakes = functions(chapter.blanks), mistakes_of(chapter.mistakes)
    for path in (chapter.mistakes, chapter.other_answers):
        for name in mistakes_of(path):
            if name.partition("__")[0] not in names:
                yield Finding(chapter.place(path, name), "belongs to no exercise")
    for name in names if chapter.mistakes.exists() else []:
        count = sum(mistake.startswith(f"{name}__") for mistake in mistakes)
        if count < MISTAKES:
            yield Finding(chapter.place(chapter.mistakes), f"{name} has {count} mistakes; {MISTAKES} are needed")
    others = mistakes_of(chapter.other_answers)
    for name in sorted({name for name in others if others.count(name) > 1}):
        yield Finding(chapter.place(chapter.other_answers, name), "occurs twice")


def _words(chapter: ChapterFiles) -> Iterator[Finding]:
    """Check the title, the hints, and every mistake's name and text, in at least one language."""
    try:
        table = tomllib.loads(chapter.words.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    names, known = functions(chapter.blanks), mistakes_of(chapter.mistakes)
    yield from _same(chapter, chapter.words, list(table), names, "entry [{}]")
    for name in [n for n in names if n in table]:
        mistakes = _get(table, name, "mistakes")
        explained = sorted(f"{name}__{mistake}" for mistake in mistakes) if isinstance(mistakes, dict) else []
        listed = sorted(mistake for mistake in known if mistake.startswith(f"{name}__"))
        yield from _same(chapter, chapter.words, explained, listed, "words for {}")
        yield from _hints(chapter, name, _get(table, name, "hints"))
        for keys in [("title",), *(("mistakes", m, key) for m in mistakes or {} for key in ("name", "text"))]:
            texts = _get(table, name, *keys)
            if not isinstance(texts, dict) or not any(texts.get(language) for language in WRITTEN):
                yield Finding(chapter.place(chapter.words), f"{'.'.join((name, *keys))} is missing")


def _hints(chapter: ChapterFiles, name: str, hints: Any) -> Iterator[Finding]:
    """Check that each language that has hints has the same number. One language may have none."""
    several = {language: len(_get(hints, language) or []) for language in WRITTEN}
    least = max(HINTS, *several.values())
    for language, count in several.items():
        if count < least and (count or not any(several.values())):
            where = chapter.place(chapter.words)
            yield Finding(where, f"{name} has {count} hints in {language}; {least} are needed")


def _same(chapter: ChapterFiles, path: Path, has: list[str], wanted: list[str], what: str = "{}") -> Iterator[Finding]:
    """Yield findings if a file exists but does not have the wanted names in the wanted order."""
    if not path.exists() or has == wanted:
        return
    where = chapter.place(path)
    yield from (Finding(where, f"has no {what.format(name)}") for name in wanted if name not in has)
    yield from (Finding(where, f"{what.format(name)} should not be there") for name in has if name not in wanted)
    if set(has) == set(wanted):
        again = sorted({name for name in has if has.count(name) > 1})
        text = f"has {', '.join(again)} twice" if again else f"differs in order from exercises.py: {', '.join(has)}"
        yield Finding(where, text)


def _get(table: Any, *keys: str) -> Any:
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table
