"""What the terminal shows at the end: a block per answer that is not right, then how far the learner has come."""

from typing import TYPE_CHECKING, Any

from lessons.checking import progress
from lessons.checking.words import lesson_words, pick, say

if TYPE_CHECKING:
    import pytest

    from lessons.checking.session import Run

MARKS = {"todo": ("t", "yellow"), "wrong": ("w", "red"), "broken": ("b", "red"), "hung": ("h", "red")}


def in_order(run: "Run") -> list[dict[str, Any]]:
    """The verdicts in the book's order; under xdist they come in any."""
    order = {name: n for n, name in enumerate(progress.all_exercises(run.root / "lessons"))}
    return sorted(run.verdicts, key=lambda v: order.get(v["exercise"], len(order)))


def write(terminal: "pytest.TerminalReporter", run: "Run", hint: bool) -> None:
    """Blocks, the progress line, and with --hint the next hint."""
    verdicts = in_order(run)
    if not hint:
        for verdict in verdicts:
            if verdict["message"] and verdict["outcome"] != "todo":
                _block(terminal, run, verdict)
    if not verdicts and not run.hint_for:
        if hint:
            terminal.write_line(say("hint-solved", run.lang))
        return
    following = run.hint_for or _next(run, verdicts)
    terminal.write_line("")
    if hint and following:
        lessons = run.root / "lessons"
        terminal.write_line(progress.next_hint(lessons, run.settings.answers, following, run.lang), yellow=True)
        terminal.write_line(" · ".join(_where(run, following)))
        return
    terminal.write_line(_progress(run, verdicts, following), bold=True)


def _block(terminal: "pytest.TerminalReporter", run: "Run", verdict: dict[str, Any]) -> None:
    lesson, _, name = verdict["exercise"].partition(".")
    words = lesson_words(run.root / "lessons" / lesson).get(name, {})
    title = f" · {pick(words['title'], run.lang)}" if "title" in words else ""
    _, colour = MARKS.get(verdict["outcome"], ("s", "yellow"))
    terminal.write_line("")
    terminal.write(say(verdict["outcome"], run.lang), **{colour: True, "bold": True})
    terminal.write_line(f"  {lesson}/{name}{title} · {_file(run, verdict['exercise'], verdict['line'])}", bold=True)
    for line in verdict["message"].splitlines():
        terminal.write_line(f"  {line}")


def _progress(run: "Run", verdicts: list[dict[str, Any]], following: str | None) -> str:
    total = len(progress.all_exercises(run.root / "lessons"))
    solved = sum(v["outcome"] == "right" for v in verdicts)
    key = "solved-all" if len(verdicts) >= total else "solved-some"
    parts = [say(key, run.lang, solved=solved, checked=len(verdicts), total=total)]
    if following:
        parts += [say("next", run.lang, exercise=following.replace(".", "/")), *_where(run, following)]
    elif solved == total:
        parts.append(say("all-done", run.lang))
    if any(v["outcome"] not in ("right", "todo") for v in verdicts):
        parts.append(f"--seed {run.settings.seed}")
    return " · ".join(parts)


def _next(run: "Run", verdicts: list[dict[str, Any]]) -> str | None:
    """The first that was checked and is not right, else the first of the others not known to be right."""
    for verdict in verdicts:
        if verdict["outcome"] not in ("right", "skipped"):
            return verdict["exercise"]
    done = {v["exercise"] for v in verdicts}
    folder = run.settings.answers
    state = progress.load_state(folder)
    for exercise in progress.all_exercises(run.root / "lessons"):
        if exercise not in done and progress.known(folder, exercise, state) != "right":
            return exercise
    return None


def _where(run: "Run", exercise: str) -> list[str]:
    line = progress.line_of(run.settings.answers, exercise)
    return [_file(run, exercise, line), progress.page_of(exercise, run.lang)]


def _file(run: "Run", exercise: str, line: int) -> str:
    path = run.settings.answers / f"{exercise.partition('.')[0]}.py"
    shown = path.relative_to(run.root) if path.is_relative_to(run.root) else path
    return f"{shown}:{line}" if line else str(shown)
