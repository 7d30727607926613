"""What the terminal shows at the end: a block per answer that is not right, then how far the learner has come."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.exercise import progress
from grader.exercise.lesson_words import exercise_words
from grader.home import home
from grader.messages import pick, say
from grader.say.checked import Checked

if TYPE_CHECKING:
    import pytest

    from grader.run.pytest_run import PytestRun, PytestVerdict

MARKS = {"todo": ("t", "yellow"), "wrong": ("w", "red"), "broken": ("b", "red"), "hung": ("h", "red")}


def in_order(run: "PytestRun") -> "list[PytestVerdict]":
    """The verdicts in the book's order; under xdist they come in any."""
    order = {name: n for n, name in enumerate(progress.all_exercises(run.root / "lessons"))}
    return sorted(run.verdicts, key=lambda v: order.get(v.exercise, len(order)))


def write(terminal: "pytest.TerminalReporter", run: "PytestRun", hint: bool) -> None:
    """Blocks, the progress line, and with --hint the next hint."""
    verdicts = in_order(run)
    if not hint:
        for verdict in verdicts:
            if verdict.message and verdict.reason != "todo":
                _block(terminal, run, verdict)
    if not verdicts and not run.hint_for:
        if hint:
            terminal.write_line(say("hint-solved", run.lang))
        return
    following = run.hint_for or _next(run, verdicts)
    terminal.write_line("")
    if hint and following:
        text, warning = progress.next_hint(run.root / "lessons", run.settings.answers, following, run.lang)
        terminal.write_line(text, yellow=True)
        terminal.write_line(" · ".join(_where(run, following)))
    else:
        terminal.write_line(_progress(run, verdicts, following), bold=True)
        warning = ""
    if run.warning or warning:
        terminal.write_line(run.warning or warning, yellow=True)


@dataclass(frozen=True)
class Block:
    """What is said about one answer: the outcome's word with its colour, which exercise and where, and why."""

    word: str
    colour: str
    heading: str
    lines: list[str]


def block(root: Path, folder: Path, lang: str, checked: Checked) -> Block:
    """The words for an exercise of the project at `root`, on an answer in `folder`."""
    words = exercise_words(root / "lessons", checked.exercise)
    title = f" · {pick(words.title, lang)}" if words.title else ""
    _, colour = MARKS.get(checked.outcome, ("s", "yellow"))
    where = place(root, folder, checked.exercise, checked.line)
    heading = f"{checked.exercise.replace('.', '/')}{title} · {where}"
    return Block(say(checked.outcome, lang), colour, heading, checked.message.splitlines())


def place(root: Path, folder: Path, exercise: str, line: int) -> str:
    """Where an answer stands, as editors open it: `answers/ch03_sharding.py:14`."""
    path = folder / f"{exercise.partition('.')[0]}.py"
    base = home(root)
    shown = path.relative_to(base) if path.is_relative_to(base) else path
    return f"{shown}:{line}" if line else str(shown)


def _block(terminal: "pytest.TerminalReporter", run: "PytestRun", checked: Checked) -> None:
    said = block(run.root, run.settings.answers, run.lang, checked)
    terminal.write_line("")
    terminal.write(said.word, **{said.colour: True, "bold": True})
    terminal.write_line(f"  {said.heading}", bold=True)
    for line in said.lines:
        terminal.write_line(f"  {line}")


def _progress(run: "PytestRun", verdicts: "list[PytestVerdict]", following: str | None) -> str:
    total = len(progress.all_exercises(run.root / "lessons"))
    solved = sum(v.outcome == "right" for v in verdicts)
    key = "solved-all" if len(verdicts) >= total else "solved-some"
    parts = [say(key, run.lang, solved=solved, checked=len(verdicts), total=total)]
    if following:
        parts += [say("next", run.lang, exercise=following.replace(".", "/")), *_where(run, following)]
    elif solved == total:
        parts.append(say("all-done", run.lang))
    if any(v.outcome not in ("right", "todo") for v in verdicts):
        parts.append(f"--seed {run.settings.seed}")
    return " · ".join(parts)


def _next(run: "PytestRun", verdicts: "list[PytestVerdict]") -> str | None:
    """The first that was checked and is not right, else the first of the others not known to be right."""
    for verdict in verdicts:
        if verdict.outcome not in ("right", "skipped"):
            return verdict.exercise
    done = {v.exercise for v in verdicts}
    folder = run.settings.answers
    state = progress.load_state(folder)
    for exercise in progress.all_exercises(run.root / "lessons"):
        if exercise not in done and progress.cached_outcome(folder, exercise, state) != "right":
            return exercise
    return None


def _where(run: "PytestRun", exercise: str) -> list[str]:
    folder = run.settings.answers
    line = progress.line_of(folder, exercise)
    page = progress.page_of(run.root, exercise, run.lang)
    return [place(run.root, folder, exercise, line), *([page] if page else [])]
