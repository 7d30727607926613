"""How far the learner has come: all exercises in order, the last outcomes, hints given."""

import ast
import json
from pathlib import Path
from typing import Any

from grader.exercise import answers
from grader.exercise.chapters import given_out
from grader.exercise.lesson_words import exercise_words
from grader.messages import nearest_first, pick, say

TESTS = "test_exercises.py"


def all_exercises(lessons: Path) -> list[str]:
    """Every exercise of every lesson, in the order of chapters and of their tests: `ch03_sharding.read_layout`."""
    return [name for tests in given_out(lessons, TESTS) for name in exercises_of(tests)]


def exercises_of(tests: Path) -> list[str]:
    """Those of one lesson."""
    found = []
    if tests.exists():
        for node in ast.parse(tests.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and _takes_check(node):
                found.append(f"{tests.parent.name}.{node.name.removeprefix('test_')}")
    return found


def _takes_check(test: ast.FunctionDef) -> bool:
    return "check" in (argument.arg for argument in test.args.args)


def load_state(folder: Path) -> dict[str, Any]:
    """The last outcome of each exercise with the fingerprint of the answer that had it. Empty when unreadable."""
    try:
        state = json.loads((folder / ".state.json").read_text(encoding="utf-8"))
        return state if isinstance(state, dict) else {}
    except (OSError, ValueError):
        return {}


def save_state(folder: Path, outcomes: dict[str, tuple[str, str]], current: str | None = None) -> None:
    """Add outcomes, and the exercise at hand, to the state, where the folder can be written.

    outcomes  each with the fingerprint of the answers file that had it: by now the file may be another
    """
    state = load_state(folder)
    if current is not None:
        state["current"] = current
    for exercise, (outcome, fingerprint) in outcomes.items():
        state[exercise] = {"outcome": outcome, "answer": fingerprint}
    _write(folder / ".state.json", state)


def cached_outcome(folder: Path, exercise: str, state: dict[str, Any]) -> str | None:
    """The exercise's outcome when its answers file has not changed since, else None."""
    entry = state.get(exercise)
    if isinstance(entry, dict) and entry.get("answer") == _fingerprint(folder, exercise):
        return entry.get("outcome")
    return None


def _fingerprint(folder: Path, exercise: str) -> str:
    """Of the answers file as it is now; empty where there is none that can be read."""
    try:
        return answers.fingerprint((folder / f"{exercise.partition('.')[0]}.py").read_bytes())
    except OSError:
        return ""


def line_of(folder: Path, exercise: str) -> int:
    """The line of the exercise's function in the answers file; 1 when it cannot be found."""
    lesson, _, name = exercise.partition(".")
    try:
        file = answers.read(folder / f"{lesson}.py")
    except (OSError, UnicodeDecodeError):
        return 1
    return file.functions.get(name) or file.faults.get(name, (1, ""))[0]


def page_of(root: Path, exercise: str, lang: str) -> str:
    """The page of the exercise's chapter, seen from `root`: of the book where one is built, else the file that it is
    made from, each in the nearest language; empty where there is neither."""
    lesson = exercise.partition(".")[0]
    pages = (page for x in nearest_first(lang) for page in (f"_build/html/{x}/{lesson}.html", f"book/{x}/{lesson}.md"))
    return next((page for page in pages if (root / page).is_file()), "")


def hints_given(folder: Path) -> dict[str, int]:
    """How many hints the learner has seen of each exercise. Empty when unreadable."""
    try:
        given = json.loads((folder / ".hints.json").read_text(encoding="utf-8"))
        return given if isinstance(given, dict) else {}
    except (OSError, ValueError):
        return {}


def next_hint(lessons: Path, folder: Path, exercise: str, lang: str) -> str:
    """The exercise's next hint, and note that it was given; after the last one, the last again."""
    hints = pick(exercise_words(lessons, exercise).hints, lang, [])
    label = exercise.replace(".", "/")
    if not hints:
        return say("hint-none", lang, exercise=label)
    given = hints_given(folder)
    count = min(given.get(exercise, 0) + 1, len(hints))
    _write(folder / ".hints.json", given | {exercise: count})
    text = say("hint", lang, n=count, total=len(hints), exercise=label, text=hints[count - 1])
    return text if count < len(hints) else text + "\n" + say("hint-last", lang)


def _write(path: Path, data: Any) -> None:
    try:
        path.write_text(json.dumps(data, indent=1), encoding="utf-8")
    except OSError:
        pass  # a folder of submissions may be read-only: then nothing is remembered
