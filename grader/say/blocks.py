"""Format the report on one answer for a terminal: a heading with a place that an editor can open, and the reason."""

from dataclasses import dataclass
from pathlib import Path

from grader.exercise.lesson_words import exercise_words
from grader.home import home
from grader.messages import pick, say
from grader.say.checked import Checked

MARKS = {"todo": ("t", "yellow"), "wrong": ("w", "red"), "broken": ("b", "red"), "hung": ("h", "red")}


@dataclass(frozen=True)
class Block:
    """The report on one answer: the outcome and its colour, the exercise and its place, and the reason."""

    word: str
    colour: str
    heading: str
    lines: list[str]


def block(root: Path, folder: Path, lang: str, checked: Checked) -> Block:
    """Return the report on an answer in `folder`, for an exercise of the project at `root`."""
    texts = exercise_words(root / "lessons", checked.exercise)
    title = f" · {pick(texts.title, lang)}" if texts.title else ""
    _, colour = MARKS.get(checked.outcome, ("s", "yellow"))
    where = place(root, folder, checked.exercise, checked.line)
    heading = f"{checked.exercise.replace('.', '/')}{title} · {where}"
    return Block(say(checked.outcome, lang), colour, heading, checked.message.splitlines())


def place(root: Path, folder: Path, exercise: str, line: int) -> str:
    """Return the place of an answer in the form that editors open: `answers/ch03_sharding.py:14`."""
    path = folder / f"{exercise.partition('.')[0]}.py"
    base = home(root)
    shown = path.relative_to(base) if path.is_relative_to(base) else path
    return f"{shown}:{line}" if line else str(shown)
