"""The sample lesson's blanks, and its file with some of them solved."""

from collections.abc import Callable
from types import SimpleNamespace

from checker_runs import SAMPLE

from grader.exercise import function_text
from grader.exercise.statements import blanks_in

BLANKS = blanks_in(SAMPLE / "lessons" / "ch90_one" / "exercises.py", "en")  # what a learner is given


def silent(show_message: Callable[[str], None] = lambda sentence: None) -> SimpleNamespace:
    """A view of a session that shows nothing."""
    nothing = dict.fromkeys(("exercise_changed", "verdict_changed", "progress_changed"), lambda: None)
    return SimpleNamespace(**nothing, show_message=show_message)


def solved(name: str, body: str, source: str = BLANKS) -> str:
    """The source with the body of one blank written."""
    blank = function_text.text_in(BLANKS, function_text.lines_of(BLANKS), name) or ""
    head = blank[: blank.index("    # TODO")]
    assert blank in source
    return source.replace(blank, f"{head}    {body}\n")
