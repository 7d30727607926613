"""Send saved files to the checker, and the replies to the view that shows them."""

import asyncio
import sys
import time
from pathlib import Path
from typing import Protocol

from watchfiles import Change, awatch

from grader.exercise import blanks, function_text, untouched
from grader.learn.overview import Course
from grader.learn.service_client import Client
from grader.messages import say
from grader.run.service_messages import CheckReply, CheckRequest, Failed, PrepareRequest, Ready, Reply

RESTARTS = 3  # of a checker that ends before its first reply


class View(Protocol):
    """A view of a session: a screen, or lines of text."""

    def exercise_changed(self) -> None:
        """Show that the learner has moved to a different exercise."""

    def verdict_changed(self) -> None:
        """Show the new verdict of the current exercise."""

    def progress_changed(self) -> None:
        """Show the new outcome of an exercise other than the current one."""

    def show_message(self, sentence: str) -> None:
        """Tell the learner what happened."""


class Session:
    """A session that checks saved answers. `run` works until it is cancelled; the other methods belong to the keys."""

    def __init__(self, course: Course, view: View, limit: float, memory: float) -> None:
        self.course, self.view = course, view
        options = {"root": course.root, "answers": course.answers, "lang": course.lang}
        options |= {"limit": limit, "memory": memory, "cache": course.home / ".cache" / "jax"}
        command = [sys.executable, "-m", "grader.run.service"]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        self.client = Client(command, self._replied, self._checker_ended)
        self._id = 0
        self._checked: str | None = None  # the exercise whose reply is awaited
        self._since = 0.0
        self._tried: set[str] = set()  # quiet checks since the last save
        self._texts: dict[str, dict[str, str | None]] = {}  # the functions of each answers file as last seen
        self._deaths = 0
        self._noted: list[str] = []
        self._starting: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Start the checker; check what has no known outcome, then each save. End the checker when cancelled."""
        untouched.translate(self.course.root / "lessons", self.course.answers, self.course.lang)
        self._complete()
        for lesson in self.course.lessons():
            self._texts[lesson] = self._read(lesson)
        await self.client.start()
        try:
            self._checked = None  # what a key asked for before there was a checker is asked again
            self.go(self.course.current)
            await self._watch()
        finally:
            if self._starting:
                self._starting.cancel()
            await self.client.stop()

    # ---- keys ----

    def go(self, exercise: str) -> None:
        """Move to an exercise; check it if its verdict is not known."""
        self.course.go(exercise)
        self.view.exercise_changed()
        self._warn()
        up_to_date = self.course.is_up_to_date(exercise)
        shown = exercise in self.course.verdicts or self.course.outcomes.get(exercise) in ("right", "todo")
        if not (up_to_date and shown):
            if self._checked != exercise:
                self._check(exercise)
        elif self._checked is None:
            self._check_next()
        self.client.send(PrepareRequest(exercise))

    def reset(self) -> None:
        """Restore the blank of the current exercise; the check follows from the save."""
        lesson, _, name = self.course.current.partition(".")
        path, lang = self.course.answers / f"{lesson}.py", self.course.lang
        self._complete()
        try:
            kept = blanks.reset(path, self.course.root / "lessons" / lesson / "exercises.py", name, lang)
        except OSError as error:
            why = error.strerror or str(error)
            return self.view.show_message(say("file-unwritable", lang, file=path, error=why))
        except UnicodeDecodeError as error:
            return self.view.show_message(say("file-unreadable", lang, file=path, error=error))
        if kept is None:
            return self.view.show_message(say("learn-blank", lang, name=name))
        self.course.hints.pop(self.course.current, None)
        self.view.show_message(say("learn-reset", lang, name=name, kept=kept.relative_to(self.course.home)))

    def solution(self) -> str:
        """Return the solution of the current exercise; "", and a message in the view, if it cannot be read."""
        try:
            return self.course.solution(self.course.current).rstrip()
        except (OSError, UnicodeDecodeError) as error:
            self.view.show_message(str(error))
            return ""

    def checking(self) -> float | None:
        """Return for how many seconds the current exercise has been checked; None if it is not being checked."""
        return time.monotonic() - self._since if self._checked == self.course.current else None

    # ---- the checker ----

    def _check(self, exercise: str) -> None:
        """Check an exercise; the check under way is given up, and its exercise becomes one without a known outcome."""
        if self._checked not in (None, exercise) and not self.course.is_right(str(self._checked)):
            self.course.outcomes.pop(str(self._checked), None)
        self._id += 1
        self._checked, self._since = exercise, time.monotonic()
        self.client.send(CheckRequest(exercise, self._id))

    def _check_next(self) -> None:
        """Quietly check an exercise whose outcome is unknown or outdated; those of the current file come first."""
        self._checked = None
        course, lesson = self.course, self.course.current.partition(".")[0]
        for exercise in dict.fromkeys([*course.of(lesson), *course.exercises]):
            open_ = exercise not in course.outcomes or course.is_right(exercise)
            if open_ and exercise not in self._tried and not course.is_up_to_date(exercise):
                return self._check(exercise)

    def _replied(self, reply: Reply) -> None:
        if isinstance(reply, Ready):
            if notes := [note for note in reply.notes if note not in self._noted]:
                self._noted += notes  # a checker that is started again says the same
                self.view.show_message(" ".join(notes))
        elif isinstance(reply, (CheckReply, Failed)) and reply.id == self._id:
            self._deaths = 0
            exercise, self._checked = self._checked, None
            if isinstance(reply, Failed):
                self.view.show_message(reply.error)
            elif exercise is not None:
                self._judged(exercise, reply)

    def _judged(self, exercise: str, reply: CheckReply) -> None:
        """Show the outcome and go on with the next unchecked exercise."""
        self._tried.add(exercise)
        was_right = self.course.is_right(exercise)
        self.course.note(reply)
        self._warn()
        if exercise == self.course.current:
            self.view.verdict_changed()
            for exercise in (self.course.current, self.course.following()):
                if not self.course.is_right(exercise):
                    self.client.send(PrepareRequest(exercise))
        else:
            self.view.progress_changed()
            if was_right and not self.course.is_right(exercise):
                values = {"exercise": exercise.replace(".", "/"), "outcome": say(reply.outcome, self.course.lang)}
                self.view.show_message(say("learn-broke", self.course.lang, **values))
        self._check_next()

    def _warn(self) -> None:
        """Warn once that nothing is saved for the next session."""
        if self.course.warning and self.course.warning not in self._noted:
            self._noted.append(self.course.warning)
            self.view.show_message(self.course.warning)

    def _checker_ended(self, error: str) -> None:
        self._deaths += 1
        again = self._deaths < RESTARTS
        self.view.show_message(say("learn-lost" if again else "learn-gone", self.course.lang, error=error))
        if again:
            self._starting = asyncio.create_task(self._start())
        else:
            self._checked = None

    async def _start(self) -> None:
        await self.client.stop()
        await self.client.start()
        self._check(self.course.current)

    # ---- files ----

    async def _watch(self) -> None:
        course = self.course
        while True:
            folders = (course.root / "lessons", course.root / "solutions", course.answers)
            async for changes in awatch(*filter(Path.is_dir, folders), watch_filter=self._matters, step=50):
                paths = {Path(path) for _, path in changes}
                if any(path.parent != course.answers for path in paths):
                    await self._renew()
                for path in sorted(p for p in paths if p.parent == course.answers):
                    await self._saved(path.stem)
                if not course.answers.is_dir():
                    break
            self._complete()

    def _matters(self, change: Change, path: str) -> bool:
        file = Path(path)
        if file.parent == self.course.answers:
            return file.suffix == ".py" and file.stem in self.course.lessons()
        return file.suffix in (".py", ".toml") and self.course.answers not in file.parents

    async def _saved(self, lesson: str) -> None:
        """Check the saved answer: the current exercise, or the one whose function has changed."""
        course = self.course
        before, now = self._texts.get(lesson, {}), self._read(lesson)
        self._texts[lesson] = now
        changed = [e for e in course.of(lesson) if before.get(e) != now.get(e)]
        self._tried.clear()
        if changed and course.current not in changed:
            course.go(changed[0])
            self.view.exercise_changed()
        for exercise in changed:
            if exercise != course.current and not course.is_right(exercise):
                course.outcomes.pop(exercise, None)
        if self._deaths >= RESTARTS:
            self._deaths = 0
            await self.client.start()
        if course.current in course.of(lesson):
            self._check(course.current)
        else:
            self._check_next()

    async def _renew(self) -> None:
        """Read the lessons again after a change, with a new checker."""
        try:
            self.course.read_exercises()
        except (OSError, SyntaxError, ValueError) as error:
            return self.view.show_message(say("learn-lessons", self.course.lang, error=error))
        self._complete()
        self.course.verdicts.clear()
        self._tried.clear()
        if self.course.current not in self.course.exercises:
            self.course.go(self.course.exercises[0])
        self.view.exercise_changed()
        self._deaths = 0
        await self._start()

    def _complete(self) -> None:
        """Add the blanks that the learner's files still lack."""
        try:
            notes = blanks.prepare(self.course.root / "lessons", self.course.answers, self.course.lang)
        except OSError as error:
            notes = [blanks.not_copied(error, self.course.lang)]
        if notes:
            self.view.show_message(" ".join(notes))

    def _read(self, lesson: str) -> dict[str, str | None]:
        """Return each exercise's function as text; empty for a file that cannot be read."""
        path = self.course.answers / f"{lesson}.py"
        try:
            return {e: function_text.text_of(path, e.partition(".")[2]) for e in self.course.of(lesson)}
        except (OSError, UnicodeDecodeError):
            return {}
