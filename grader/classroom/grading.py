"""From the submissions to everybody's outcomes: solutions seen, files read, answers run in sandboxes, verdicts made.

Each step ends before the next begins, and whatever is forked here is forked while no sandbox is open.
"""

import dataclasses
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from grader.classroom import sandbox_pool
from grader.classroom.isolation import SandboxFiles
from grader.classroom.sandbox_messages import See
from grader.classroom.submissions import Student
from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Settings
from grader.judge.verdict import Verdict
from grader.messages import say
from grader.run import checking
from grader.see.observation import ProcessResult
from grader.see.wire import decode, encode
from minipod import forked

OUTCOMES = ("right", "wrong", "hung", "broken", "todo", "skipped", "absent")
Tell = Callable[[str, int, int], object]  # (step, how many are done, of how many)


@dataclass
class Outcome:
    """What became of one answer. outcome: one of OUTCOMES · mistake: the function of mistakes.py, or None."""

    outcome: str
    mistake: str | None = None
    message: str = ""


@dataclass(frozen=True)
class Examined:
    """An answers file that was read and not run: the verdict, where that is enough for one, and its text."""

    verdict: Verdict
    source: str


@dataclass
class ClassGrading:
    """One class on one set of inputs. outcomes: of each student, by exercise."""

    root: Path
    students: list[Student]
    settings: Settings  # its `answers` is the folder of all submissions
    lang: str
    catalogue: Catalogue
    cached: dict[str, checking.CachedResults] = field(default_factory=dict)
    outcomes: dict[str, dict[str, Outcome]] = field(default_factory=dict)

    @property
    def exercises(self) -> list[str]:
        return self.catalogue.exercises

    def run(self, kind: str, files: SandboxFiles, jobs: int, tell: Tell) -> None:
        """Fill `outcomes`."""
        self._prepare(tell)
        checks = self._read(tell)
        work = self._answers(checks)
        total = sum(len(item.requests) for item in work)
        finished = 0

        def done(_: sandbox_pool.Work) -> None:
            nonlocal finished
            finished += 1
            tell("class-step-run", finished, total)

        sandbox_pool.run_all(kind, files, work, jobs, done)
        try:
            self._judge(checks, work, tell)
        finally:
            forked.stop_all()  # a mistake may have been started that nobody asked for any more

    def _prepare(self, tell: Tell) -> None:
        for n, exercise in enumerate(self.exercises, 1):
            cached = self.cached[exercise] = checking.CachedResults()
            checking.prepare(self.catalogue.spec(exercise), self.settings, cached)
            tell("class-step-prepare", n, len(self.exercises))

    def _read(self, tell: Tell) -> dict[str, dict[str, checking.Check]]:
        """The checks of each student's answers, in children: even reading a file may take for ever, or end Python."""
        checks = {}
        for n, student in enumerate(self.students, 1):
            self.outcomes[student.name] = {}
            checks[student.name] = {}
            if student.lessons and not self._read_lessons(student, student.lessons, checks[student.name]):
                for lesson in student.lessons:
                    if not self._read_lessons(student, [lesson], checks[student.name]):
                        student.notes.append((f"{lesson}.py", "class-unreadable"))
            tell("class-step-read", n, len(self.students))
        return checks

    def _read_lessons(self, student: Student, lessons: list[str], checks: dict[str, checking.Check]) -> bool:
        exercises = [e for e in self.exercises if e.partition(".")[0] in lessons]
        settings = dataclasses.replace(self.settings, answers=student.folder)

        def look() -> object:
            found = [checking.examine(self.catalogue.spec(e), settings) for e in exercises]
            return encode([Examined(check.verdict, check.source) for check in found])

        (seen,) = forked.run(look, devices=1, seconds=self.settings.limit, memory=self.settings.memory)
        if seen.status != "ok":
            return False
        for exercise, examined in zip(exercises, decode(list[Examined], seen.value), strict=True):
            cached, spec = self.cached[exercise], self.catalogue.spec(exercise)
            checks[exercise] = checking.Check(spec, settings, examined.verdict, cached, examined.source)
        return True

    def _answers(self, checks: dict[str, dict[str, checking.Check]]) -> list[sandbox_pool.Work]:
        about = self.settings.seed, self.settings.limit, self.settings.memory
        work = []
        for student, found in checks.items():
            open_ = {e: check for e, check in found.items() if not check.verdict.outcome}
            requests = [See(e, check.verdict.file, check.source, *about) for e, check in open_.items()]
            work.append(sandbox_pool.Work(student, deque(requests)))
        return work

    def _judge(self, checks: dict[str, dict[str, checking.Check]], work: list[sandbox_pool.Work], tell: Tell) -> None:
        seen = {item.student: item.seen for item in work}
        for n, student in enumerate(self.students, 1):
            for exercise in self.exercises:
                check = checks[student.name].get(exercise)
                if check is None:
                    outcome = self._without(student, exercise)
                else:
                    outcome = self._concluded(check, seen[student.name].get(exercise, ()))
                self.outcomes[student.name][exercise] = outcome
            tell("class-step-judge", n, len(self.students))

    def _without(self, student: Student, exercise: str) -> Outcome:
        lesson = exercise.partition(".")[0]
        if key := student.refused.get(lesson):
            return Outcome("broken", message=f"{lesson}.py: {say(key, self.lang)}")
        return Outcome("absent")

    def _concluded(self, check: checking.Check, seen: tuple[ProcessResult, ...] | str) -> Outcome:
        """The verdict in words. What was seen is the submission's own word, so it may be anything at all."""
        verdict = check.verdict
        if isinstance(seen, str):
            return Outcome("broken", message=say(seen, self.lang))
        if not verdict.outcome:
            if len(seen) != check.spec.processes:
                return Outcome("broken", message=say("class-sandbox-nonsense", self.lang))
            verdict = checking.conclude(check, seen)
        text = checking.in_words(check, self.lang)
        return Outcome(verdict.outcome, verdict.mistake, text.replace(f"{self.settings.answers}{os.sep}", ""))
