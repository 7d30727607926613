"""Read chapter.toml: a chapter's place in the book, its title, how long it takes, and translations in its pictures."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from grader.exercise.chapters import FILE, NAME, lessons_in
from publish import chapter_tables
from publish.chapter_tables import WRITTEN, Caption, Elsewhere, is_text


@dataclass(frozen=True)
class Teaching:
    """The texts of the instructor's guide on a chapter, each by language.

    goal   what students can do after the chapter, in one sentence
    ask    questions for the class
    wrong  the mistakes to expect, `exercise.mistake` as in words.toml, the likeliest first
    """

    goal: dict[str, str]
    ask: dict[str, list[str]]
    wrong: list[str]


@dataclass(frozen=True)
class Chapter:
    """A chapter; the fields are named as in chapter.toml.

    part      of the book, 1, 2 or 3
    title     by language, at least one of them
    solve     minutes for the exercises
    measures  whether its cells measure times, so that nothing else may run at the same time
    labels    texts in the chapter's own pictures and tables: a pattern to find, and its replacement in zh-Hans
    teaching  for the instructor's guide
    figures   the captions of its pictures
    elsewhere the names of its terms in other systems
    only      the one language in which it is written so far; "": both
    draft     whether it is left out of the book and the exercises for now
    """

    lesson: str  # "ch03_sharding", the folder
    number: int
    part: int
    title: dict[str, str]
    solve: int
    measures: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    teaching: Teaching | None = None
    figures: tuple[Caption, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    only: str = ""
    draft: bool = False

    def titled(self, language: str) -> str:
        """Return the title in a language, or else in the one that exists."""
        return self.title.get(language) or next(iter(self.title.values()))


def read_chapter(folder: Path) -> Chapter:
    """Return a lesson's chapter.toml. Raises ValueError with a sentence that names the file and says what to write."""
    path = folder / FILE
    where = f"lessons/{folder.name}/{FILE}"
    named = NAME.fullmatch(folder.name)
    if not named:
        raise ValueError(f"lessons/{folder.name}: a chapter's folder has a name such as ch03_sharding")
    try:
        facts = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{where}: there is no such file: write one like lessons/ch01_devices/{FILE}") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{where}: cannot be read: {' '.join(str(error).split())}") from None
    if sentence := next(_wrong(facts, int(named[1])), None):
        raise ValueError(f"{where}: {sentence}")
    labels = tuple((row["find"], row["zh-Hans"]) for row in facts.pop("labels", []))
    teaching = Teaching(**facts.pop("teaching")) if "teaching" in facts else None
    figures = chapter_tables.captions(facts.pop("figures", []))
    elsewhere = chapter_tables.elsewhere(facts.pop("elsewhere", []))
    return Chapter(folder.name, **facts, labels=labels, teaching=teaching, figures=figures, elsewhere=elsewhere)


def _wrong(facts: dict[str, Any], number: int) -> Iterator[str]:
    """Yield a sentence for each fault of the file, table by table."""
    known = [f.name for f in fields(Chapter) if f.name != "lesson"]
    for key in facts:
        if key not in known:
            yield f"`{key}` is not a known key: choose from {', '.join(known)}"
    yield from _wrong_numbers(facts, number)
    yield from _wrong_title(facts.get("title"))
    if not isinstance(facts.get("measures", False), bool):
        yield "measures is not true or false: write `measures = true` if cells measure times, otherwise leave it out"
    yield from _wrong_labels(facts.get("labels", []))
    if "teaching" in facts and not _teaches(facts["teaching"]):
        yield "[teaching] is incomplete: it has goal (a text by language), ask (texts by language) and wrong (mistakes)"
    if facts.get("only", WRITTEN[0]) not in WRITTEN:
        yield f'only is not one of the languages: write `only = "{WRITTEN[0]}"`, or leave it out if both are written'
    if not isinstance(facts.get("draft", False), bool):
        yield "draft is not true or false: write `draft = true` until the chapter is complete, then leave it out"
    yield from chapter_tables.wrong(facts, chapter_tables.languages(facts))


def _wrong_numbers(facts: dict[str, Any], number: int) -> Iterator[str]:
    for key, example in (("number", number), ("part", 1), ("solve", 20)):
        if not isinstance(facts.get(key), int) or isinstance(facts[key], bool) or facts[key] < 1:
            wrong = "missing" if key not in facts else "not a whole number above 0"
            yield f"{key} is {wrong}: write `{key} = {example}`"
        elif key == "number" and facts[key] != number:
            yield f"number is {facts[key]}, the folder's name says {number}: write `number = {number}`"


def _wrong_title(title: Any) -> Iterator[str]:
    if not isinstance(title, dict) or not any(is_text(title.get(language)) for language in WRITTEN):
        yield 'the title is missing: write `title.en = "…"` and `title.zh-Hans = "…"`, or one of them'
    elif wrong := [key for key, text in title.items() if key not in WRITTEN or not is_text(text)]:
        yield f"title.{wrong[0]} is not a title: write it for {' or '.join(WRITTEN)}, between quotation marks"


def _wrong_labels(labels: Any) -> Iterator[str]:
    if not isinstance(labels, list) or not all(isinstance(row, dict) for row in labels):
        yield "labels is not a list: write each as a table `[[labels]]` with find and zh-Hans"
        return
    for row in labels:
        if set(row) != {"find", "zh-Hans"} or not all(map(is_text, row.values())):
            yield "one of [[labels]] is incomplete: it needs find and zh-Hans, and nothing else"
            continue
        try:
            re.compile(row["find"])
        except re.error as error:
            yield f"[[labels]] find = `{row['find']}` is not a valid pattern: {error}"


def _teaches(table: Any) -> bool:
    if not isinstance(table, dict) or set(table) != {f.name for f in fields(Teaching)}:
        return False
    goal, ask, wrong = table["goal"], table["ask"], table["wrong"]
    if not isinstance(goal, dict) or not isinstance(ask, dict) or not set(goal) == set(ask) <= set(WRITTEN):
        return False
    lists = [*ask.values(), wrong]
    return all(map(is_text, goal.values())) and all(isinstance(one, list) and all(map(is_text, one)) for one in lists)


def read_chapters(lessons: Path) -> tuple[list[Chapter], list[str]]:
    """Return the chapters of the book in order, and a sentence for each that cannot be read."""
    chapters: list[Chapter] = []
    problems: list[str] = []
    for name in lessons_in(lessons, drafts=False):
        try:
            chapters.append(read_chapter(lessons / name))
        except ValueError as error:
            problems.append(str(error))
    return chapters, problems
