"""Run the learner's session line by line, for screen readers, dumb terminals and pipes, without colour."""

import asyncio
import os
import sys
import threading

from grader.learn.overview import Course
from grader.learn.session import Session
from grader.messages import say

KEYS = {"h": "hint", "l": "list", "n": "next", "p": "previous", "r": "reset", "s": "solution", "q": "quit"}
SLOW = 0.5  # seconds after which a check is announced


def keys(lang: str) -> str:
    """Return «h hint · l list · …»."""
    return " · ".join(f"{key} {say(f'key-{name}', lang)}" for key, name in KEYS.items())


class Plain:
    """A view that prints events; `run` executes commands, the lines of standard input, until `q` or its end."""

    def __init__(self, course: Course, limit: float, memory: float) -> None:
        self.course = course
        self.session = Session(course, self, limit, memory)
        self._asked: str | None = None  # "reset" or "solution", when the next line has to confirm it

    async def run(self) -> None:
        """Run until the learner quits."""
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=_read, args=(loop, lines), daemon=True).start()
        self._progress()
        work = asyncio.create_task(self.session.run())
        helpers = [asyncio.create_task(self._announce())]
        reading = asyncio.create_task(self._obey(lines))
        try:
            await asyncio.wait([work, reading], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, reading, *helpers):
                task.cancel()
            ended = await asyncio.gather(work, reading, *helpers, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error

    # ---- what the session tells ----

    def exercise_changed(self) -> None:
        exercise = self.course.current
        print(f"\n{exercise.replace('.', '/')} · {self.course.title(exercise)}")
        print(f"\n{self.course.statement(exercise)}\n")
        if page := self.course.page(exercise):
            print(say("learn-page", self.lang, page=page))
        print(say("learn-begin", self.lang, place=self.course.place(exercise)))
        print(keys(self.lang), flush=True)

    def verdict_changed(self) -> None:
        block = self.course.block(self.course.current)
        if block is None:
            return
        print("\n" + "\n  ".join([f"{block.word}  {block.heading}", *block.lines]))
        if self.course.is_right(self.course.current):
            self._progress()
            print(self._goes_on())
        sys.stdout.flush()

    def progress_changed(self) -> None:
        pass

    def show_message(self, sentence: str) -> None:
        print(sentence, flush=True)

    # ---- what the learner types ----

    @property
    def lang(self) -> str:
        return self.course.lang

    async def _obey(self, lines: asyncio.Queue[str | None]) -> None:
        while (line := await lines.get()) is not None:
            command, asked = line.strip().lower(), self._asked
            self._asked = None
            if command == "q":
                return
            if asked:
                self._confirmed(asked) if command == "y" else self.show_message(say("learn-not-done", self.lang))
            elif command.isdecimal() and 0 < int(command) <= len(self.course.exercises):
                self.session.go(self.course.exercises[int(command) - 1])
            elif command in KEYS:
                getattr(self, f"_{KEYS[command]}")()
            elif command:
                self.show_message(say("learn-unknown-key", self.lang, text=line.strip(), keys=keys(self.lang)))

    def _hint(self) -> None:
        self.show_message("\n" + self.course.hint())

    def _list(self) -> None:
        for number, exercise in enumerate(self.course.exercises, 1):
            outcome = say(self.course.outcomes.get(exercise, "todo"), self.lang)
            print(f"{number:3} {exercise.replace('.', '/')} · {self.course.title(exercise)} · {outcome}")
        self.show_message(say("learn-choose-plain", self.lang))

    def _next(self) -> None:
        self.session.go(self.course.following())

    def _previous(self) -> None:
        self.session.go(self.course.step(-1))

    def _reset(self) -> None:
        self._ask("reset")

    def _solution(self) -> None:
        self._confirmed("solution") if self.course.is_right(self.course.current) else self._ask("solution")

    def _ask(self, what: str) -> None:
        self._asked = what
        name = self.course.current.partition(".")[2]
        self.show_message(f"{say(f'learn-confirm-{what}', self.lang, name=name)} {say('learn-yes-plain', self.lang)}")

    def _confirmed(self, what: str) -> None:
        if what == "reset":
            self.session.reset()
        else:
            self.show_message("\n" + self.session.solution())

    def _progress(self) -> None:
        course, lesson = self.course, self.course.current.partition(".")[0]
        exercises = course.of(lesson)
        print(course.solved(), f"{lesson} {sum(map(course.is_right, exercises))}/{len(exercises)}", sep=" · ")

    def _goes_on(self) -> str:
        if all(map(self.course.is_right, self.course.exercises)):
            return say("all-done", self.lang)
        return say("learn-goes-on", self.lang, exercise=self.course.following().replace(".", "/"))

    async def _announce(self) -> None:
        """Print once that a check is slow."""
        announced = False
        while True:
            await asyncio.sleep(SLOW / 2)
            seconds = self.session.checking() or 0.0
            if seconds > SLOW and not announced:
                self.show_message(say("learn-checking", self.lang, seconds=round(seconds)))
            announced = seconds > SLOW


def _read(loop: asyncio.AbstractEventLoop, lines: "asyncio.Queue[str | None]") -> None:
    """Put the lines of standard input into the queue, then None. It reads the descriptor, so nothing stays locked."""
    rest = b""
    while data := os.read(0, 1 << 12):
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            loop.call_soon_threadsafe(lines.put_nowait, line.decode(errors="replace"))
    loop.call_soon_threadsafe(lines.put_nowait, None)
