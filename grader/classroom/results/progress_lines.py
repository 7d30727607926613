"""Show the progress of a run: one line that is redrawn on a terminal, or occasional lines in a log."""

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from grader.messages import say

EVERY = 10.0  # seconds between two lines of one step in a log


class ProgressLines:
    """A progress display, drawn only by calls of `tell(step, done, total)`: a process that forks needs no thread."""

    def __init__(self, console: Console, lang: str) -> None:
        self._console, self._lang = console, lang
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        here = console.is_terminal
        self._bars = Progress(*columns, console=console, auto_refresh=False, transient=True, disable=not here)
        self._tasks, self._told, self._began = {}, {}, time.monotonic()

    def __enter__(self) -> "ProgressLines":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def tell(self, step: str, done: int, total: int) -> None:
        """Report that `done` of `total` parts are done. step: the key of the step's name."""
        if self._console.is_terminal:
            if step not in self._tasks:
                self._tasks[step] = self._bars.add_task(say(step, self._lang), total=total)
            self._bars.update(self._tasks[step], completed=done)
            self._bars.refresh()
            return
        now = time.monotonic()
        if step not in self._told or done == total or now > self._told[step] + EVERY:
            self._told[step] = now
            seconds = f"{now - self._began:.0f}"
            self._console.print(f"{say(step, self._lang)} {done}/{total} · {seconds} s")
            self._console.file.flush()
