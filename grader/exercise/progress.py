"""Record the learner's progress: the last outcome of each exercise, and the hints given."""

import contextlib
import itertools
import json
import os
import re
from pathlib import Path
from typing import Any

from grader.exercise import answers
from grader.exercise.chapters import given_out
from grader.exercise.lesson_words import exercise_words
from grader.files import alone_in, write_whole
from grader.messages import nearest_first, pick, say

TESTS = "test_exercises.py"
STATE, HINTS = ".state.json", ".hints.json"  # beside the answers
OUTCOMES = ("right", "wrong", "hung", "broken", "todo", "skipped")
_TEST = re.compile(r"^def test_(\w+)\(([^)]*)\)", re.M)
_NAME = re.compile(r"\w+")
ASIDE = ".unreadable"  # behind the name of a record of which nothing could be made


def all_exercises(lessons: Path) -> list[str]:
    """Return every exercise of every lesson, in the order of chapters and tests: `ch03_sharding.read_layout`."""
    return [name for tests in given_out(lessons, TESTS) for name in exercises_of(tests)]


def exercises_of(tests: Path) -> list[str]:
    """Return one lesson's exercises (tests that take `check`) by their first lines: parsing all would take 35 ms."""
    heads = _TEST.findall(tests.read_text(encoding="utf-8")) if tests.exists() else []
    return [f"{tests.parent.name}.{name}" for name, arguments in heads if "check" in _NAME.findall(arguments)]


def load_state(folder: Path) -> dict[str, Any]:
    """Return each exercise's last outcome with the fingerprint of its answer; empty if unreadable."""
    with contextlib.suppress(OSError, ValueError):
        return _read(folder / STATE)
    return {}


def save_state(folder: Path, outcomes: dict[str, tuple[str, str]], lang: str, current: str | None = None) -> str:
    """Add outcomes, and the current exercise, to the state; return a sentence for the learner if that fails, else "".

    outcomes  each with the fingerprint of the answers file that had it, since the file may have changed by now
    """
    new: dict[str, Any] = {} if current is None else {"current": current}
    new |= {exercise: {"outcome": outcome, "answer": print_} for exercise, (outcome, print_) in outcomes.items()}
    return _add(folder / STATE, new, lang)


def cached_outcome(folder: Path, exercise: str, state: dict[str, Any]) -> str | None:
    """Return the exercise's last outcome if its answers file has not changed since, else None."""
    entry = state.get(exercise)
    if isinstance(entry, dict) and entry.get("answer") == _fingerprint(folder, exercise):
        outcome = entry.get("outcome")
        return outcome if outcome in OUTCOMES else None
    return None


def _fingerprint(folder: Path, exercise: str) -> str:
    """Return the fingerprint of the answers file as it is now; empty if it cannot be read."""
    try:
        return answers.fingerprint((folder / f"{exercise.partition('.')[0]}.py").read_bytes())
    except OSError:
        return ""


def line_of(folder: Path, exercise: str) -> int:
    """Return the line of the exercise's function in the answers file; 1 if it cannot be found."""
    lesson, _, name = exercise.partition(".")
    try:
        file = answers.read(folder / f"{lesson}.py")
    except (OSError, UnicodeDecodeError):
        return 1
    return file.functions.get(name) or file.faults.get(name, (1, ""))[0]


def page_of(root: Path, exercise: str, lang: str) -> str:
    """Return the path, relative to `root`, of the page of the exercise's chapter; empty if there is none.

    This is the built page or, without one, its source, in the nearest language.
    """
    lesson = exercise.partition(".")[0]
    pages = (page for x in nearest_first(lang) for page in (f"_build/html/{x}/{lesson}.html", f"book/{x}/{lesson}.md"))
    return next((page for page in pages if (root / page).is_file()), "")


def hints_given(folder: Path) -> dict[str, int]:
    """Return how many hints the learner has seen for each exercise; empty if unreadable."""
    with contextlib.suppress(OSError, ValueError):
        given = _read(folder / HINTS)
        return {exercise: count for exercise, count in given.items() if type(count) is int and count >= 0}
    return {}


def next_hint(lessons: Path, folder: Path, exercise: str, lang: str) -> tuple[str, str]:
    """Return the exercise's next hint (after the last, the last again), and as `save_state` a sentence or ""."""
    hints = pick(exercise_words(lessons, exercise).hints, lang, [])
    label = exercise.replace(".", "/")
    if not hints:
        return say("hint-none", lang, exercise=label), ""
    count = min(hints_given(folder).get(exercise, 0) + 1, len(hints))
    warning = _add(folder / HINTS, {exercise: count}, lang)
    text = say("hint", lang, n=count, total=len(hints), exercise=label, text=hints[count - 1])
    return (text if count < len(hints) else text + "\n" + say("hint-last", lang)), warning


def _read(path: Path) -> dict[str, Any]:
    """Return a record, empty if there is none yet. Raises OSError, or ValueError if the record cannot be understood."""
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(record, dict):
        raise ValueError("not an object")
    return record


def _add(path: Path, entries: dict[str, Any], lang: str) -> str:
    """Add entries to a record, to which other processes may add theirs. An unreadable record is set aside, not lost."""
    warning = ""
    try:
        with alone_in(path.parent):
            try:
                record = _read(path)
            except ValueError:
                kept = _aside(path)
                os.replace(path, kept)
                record, warning = {}, say("record-aside", lang, file=_shown(path), kept=_shown(kept))
            write_whole(path, json.dumps(record | entries, indent=1).encode())
    except OSError as error:
        return say("record-lost", lang, file=_shown(path), error=error.strerror or str(error))
    return warning


def _shown(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _aside(path: Path) -> Path:
    """Return where to keep a record that cannot be read: .state.json.unreadable, .state.json.unreadable-2, …"""
    names = itertools.chain([ASIDE], (f"{ASIDE}-{n}" for n in itertools.count(2)))
    return next(kept for name in names if not os.path.lexists(kept := path.with_name(path.name + name)))
