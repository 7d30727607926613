"""Write the summary on the terminal: a block per answer that is not right, then the learner's progress."""

import pytest

from grader.exercise import progress
from grader.messages import say
from grader.run.pytest_run import PytestRun, PytestVerdict
from grader.say.blocks import block, place
from grader.say.checked import Checked


def in_order(run: PytestRun) -> list[PytestVerdict]:
    """Return the verdicts in the book's order; under xdist they arrive in any order."""
    order = {name: n for n, name in enumerate(run.all_exercises)}
    return sorted(run.verdicts, key=lambda v: order.get(v.exercise, len(order)))


def write(terminal: pytest.TerminalReporter, run: PytestRun, hint: bool) -> None:
    """Write the blocks, the progress line and, with --hint, the next hint."""
    verdicts = in_order(run)
    if not hint:
        for verdict in verdicts:
            if verdict.message and verdict.reason != "todo":
                _block(terminal, run, verdict)
    if not verdicts and not run.hint_for:
        if run.hint_needless:
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


def _block(terminal: pytest.TerminalReporter, run: PytestRun, checked: Checked) -> None:
    paragraph = block(run.root, run.settings.answers, run.lang, checked)
    terminal.write_line("")
    terminal.write(paragraph.word, **{paragraph.colour: True, "bold": True})
    terminal.write_line(f"  {paragraph.heading}", bold=True)
    for line in paragraph.lines:
        terminal.write_line(f"  {line}")


def _progress(run: PytestRun, verdicts: list[PytestVerdict], following: str | None) -> str:
    total = len(run.all_exercises)
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


def _next(run: PytestRun, verdicts: list[PytestVerdict]) -> str | None:
    """Return the first exercise that was checked and is not right, or else the first one not known to be right."""
    for verdict in verdicts:
        if verdict.outcome not in ("right", "skipped"):
            return verdict.exercise
    done = {v.exercise for v in verdicts}
    folder = run.settings.answers
    state = progress.load_state(folder)
    for exercise in run.all_exercises:
        if exercise not in done and progress.cached_outcome(folder, exercise, state) != "right":
            return exercise
    return None


def _where(run: PytestRun, exercise: str) -> list[str]:
    folder = run.settings.answers
    line = progress.line_of(folder, exercise)
    page = progress.page_of(run.root, exercise, run.lang)
    return [place(run.root, folder, exercise, line), *([page] if page else [])]
