"""Read a lesson's texts about its exercises, words.toml, each in the languages in which it is written."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from grader.messages import read_texts

T = TypeVar("T")


@dataclass(frozen=True)
class MistakeWords:
    """The name and the explanation of a known mistake."""

    name: Mapping[str, str]
    text: Mapping[str, str]


@dataclass(frozen=True)
class ExerciseWords:
    """The texts of one exercise.

    mistakes   by the name of the function that makes the mistake, such as `double__squared`
    formerly   earlier names of the exercise; `ch04_jit.name` if it was in a different lesson
    statement  in derived and translated languages; the blank's docstring has the English and the zh-Hans
    comments   of the blank's code, in order, in the same languages
    """

    title: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, list[str]] = field(default_factory=dict)
    mistakes: Mapping[str, MistakeWords] = field(default_factory=dict)
    formerly: tuple[str, ...] = ()
    statement: Mapping[str, str] = field(default_factory=dict)
    comments: Mapping[str, list[str]] = field(default_factory=dict)


@functools.cache
def lesson_words(folder: Path) -> dict[str, ExerciseWords]:
    """Return a lesson's texts by exercise; empty without words.toml. Raises ValueError if that is not TOML."""
    texts = read_texts(folder / "words.toml")
    return {name: _exercise(name, table) for name, table in texts.items() if isinstance(table, dict)}


def exercise_words(lessons: Path, exercise: str) -> ExerciseWords:
    """Return the texts of `ch03_sharding.read_layout`, empty if it has none."""
    lesson, _, name = exercise.partition(".")
    return lesson_words(lessons / lesson).get(name) or ExerciseWords()


def _exercise(name: str, table: dict[str, Any]) -> ExerciseWords:
    """Read one exercise's texts; malformed entries are left out, and the author's check reports them."""
    mistakes = _table(table.get("mistakes")).items()
    return ExerciseWords(
        _said(table.get("title"), str),
        _said(table.get("hints"), list),
        {f"{name}__{short}": _mistake(_table(words)) for short, words in mistakes},
        tuple(table.get("formerly", ())),
        _said(table.get("statement"), str),
        _said(table.get("comments"), list),
    )


def _mistake(table: dict[str, Any]) -> MistakeWords:
    return MistakeWords(_said(table.get("name"), str), _said(table.get("text"), str))


def _said(table: Any, kind: type[T]) -> dict[str, T]:
    return {language: value for language, value in _table(table).items() if isinstance(value, kind)}


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
