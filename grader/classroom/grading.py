"""Grade submissions: prepare the exercises, read the files, run the answers, judge them.

A sandbox with a submission in it gets the arguments and nothing to compare with. Its reply is kept as bytes until a
child of this process reads it, judges it and ends. Programs are compiled and run in sandboxes without submissions.
"""

import dataclasses
import json
import os
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from grader.classroom import integrity, prepared, reading
from grader.classroom.prepared import Prepared
from grader.classroom.sandbox import sandbox_pool
from grader.classroom.sandbox.isolation import SandboxFiles
from grader.classroom.sandbox.sandbox_messages import Ask, AskReply, Measure, Results, See, Task
from grader.classroom.sandbox.sandbox_pool import Answer, Question
from grader.classroom.submissions import Student
from grader.exercise import progress
from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Settings
from grader.judge.verdict import Verdict
from grader.messages import say
from grader.run import checking
from grader.see.observation import FileObservation, Observation, ProcessResult
from grader.see.wire import Malformed, decode, encode

OUTCOMES = (*progress.OUTCOMES, "absent")
Tell = Callable[[str, int, int], object]  # (step, how many are done, of how many)
OWN_MEMORY = 0.75  # GiB that the processes of a sandbox may hold together beside what the answer's may
JUDGING = 60.0, 2.0  # seconds and GiB for reading and judging one reply
LONGEST_MESSAGE = 20_000  # characters
HUNG = b'"hung"'  # stands in a reply that says so, wherever else it may
ASK, LONGEST_QUESTION = b'"Ask"', 200


@dataclass
class Outcome:
    """The result of one answer. outcome: one of OUTCOMES. mistake: the function of mistakes.py, or None.

    at_import  whether it hung while its file was imported; then all answers of the file hang
    """

    outcome: str
    mistake: str | None = None
    message: str = ""
    at_import: bool = False


@dataclass(frozen=True)
class Examined:
    """An answers file that was read but not run: its text and, if reading is enough to reach one, the verdict."""

    verdict: Verdict
    source: str


@dataclass(frozen=True)
class FilesRead:
    """The contents of a student's files, which were not run: by exercise and by lesson."""

    exercises: tuple[Examined, ...]
    lines_to_read: dict[str, tuple[integrity.Line, ...]]
    functions: dict[str, tuple[str, ...]]


@dataclass
class ClassGrading:
    """One class on one set of inputs.

    exercises  those to check: of the lessons that were handed in, or that were asked for
    outcomes   of each student, by exercise
    lines_to_read  by student and lesson, the lines that a teacher should read
    alike      pairs of nearly the same answers
    functions  by student and exercise, the lines that are compared to find such pairs
    """

    root: Path
    students: list[Student]
    settings: Settings  # its `answers` is the folder of all submissions
    lang: str
    catalogue: Catalogue
    exercises: list[str]
    outcomes: dict[str, dict[str, Outcome]] = field(default_factory=dict)
    lines_to_read: dict[str, dict[str, tuple[integrity.Line, ...]]] = field(default_factory=dict)
    alike: list[integrity.Pair] = field(default_factory=list)
    _prepared: dict[str, Prepared | str] = field(default_factory=dict)
    _checks: dict[Answer, checking.Check] = field(default_factory=dict)
    _judged: dict[Answer, Outcome] = field(default_factory=dict)
    functions: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    _hung_files: dict[tuple[str, str], Outcome] = field(default_factory=dict)  # by student and lesson, at their import

    @property
    def self_reported(self) -> list[str]:
        """Return the exercises for which only the submission's process knows where values lie or lay on the way."""
        specs = map(self.catalogue.spec, self.exercises)
        return [s.exercise for s in specs if s.how == "call" and ("placement" in s.compare or s.on_device)]

    def run(self, kind: str, files: SandboxFiles, jobs: int, tell: Tell) -> None:
        """Fill in the results (see the class) once the exercises are prepared."""
        self._read(tell)
        self.alike = integrity.alike(self.functions)
        with tempfile.TemporaryDirectory(prefix="class-") as folder:
            programs: dict[Answer, Path] = {}  # replies that hold programs, still to be measured
            answers = self._answers()

            def answered(answer: Answer, line: bytes | str) -> None:
                if isinstance(line, bytes) and self._is_traced(answer[1]) and HUNG not in line:
                    programs[answer] = Path(folder, str(len(programs)))
                    programs[answer].write_bytes(line)
                else:
                    self._judge(answer, line)

            self._ask(kind, files, jobs, answers, answered, partial(tell, "class-step-run"))
            measured = [[self._measure(*item) for item in list(programs.items())[n::jobs]] for n in range(jobs)]
            self._ask(kind, files, jobs, measured, self._judge, partial(tell, "class-step-measure"))
            if jobs > 1:
                programs.clear()
                self._alone(kind, files, answered, programs, partial(tell, "class-step-alone"))
        for student in self.students:
            self.outcomes[student.name] = {exercise: self._outcome(student, exercise) for exercise in self.exercises}

    def _alone(
        self,
        kind: str,
        files: SandboxFiles,
        answered: sandbox_pool.Arrived,
        programs: dict[Answer, Path],
        tell: Callable[[int, int], object],
    ) -> None:
        """Run answers that hung alongside others again, alone, because the others may have used the processors.

        Stop at the first answer of a file that hangs again. programs: what `answered` keeps to be measured.
        """
        hung = [answer for answer, judged in self._judged.items() if judged.outcome == "hung"]
        again: set[tuple[str, str]] = set()
        for n, answer in enumerate(hung, 1):
            file = answer[0], _lesson(answer[1])
            if file not in again:
                self._hung_files.pop(file, None)
                self._ask(kind, files, 1, [[self._see(answer)]], answered, lambda *_: None)
                if answer in programs:
                    self._ask(kind, files, 1, [[self._measure(answer, programs[answer])]], self._judge, lambda *_: None)
                if self._judged[answer].outcome == "hung":
                    again.add(file)
            tell(n, len(hung))

    def _ask(
        self,
        kind: str,
        files: SandboxFiles,
        jobs: int,
        work: list[list[Question]],
        arrived: sandbox_pool.Arrived,
        tell: Callable[[int, int], object],
    ) -> None:
        """Ask all questions, each list in a separate sandbox."""
        done, total = 0, sum(map(len, work))

        def one(answer: Answer, line: bytes | str) -> None:
            nonlocal done
            arrived(answer, line)
            done += 1
            tell(done, total)

        sandbox_pool.run_all(kind, files, [deque(item) for item in work], jobs, one)

    def prepare(self, tell: Tell) -> None:
        """Observe the behaviour of the solutions and the known mistakes."""
        for n, exercise in enumerate(self.exercises, 1):
            try:
                self._prepared[exercise] = prepared.prepare(self.catalogue.spec(exercise), self.settings)
            except prepared.Unpacked as error:
                self._prepared[exercise] = str(error)
            tell("class-step-prepare", n, len(self.exercises))

    def _is_traced(self, exercise: str) -> bool:
        return self.catalogue.spec(exercise).how == "jit"

    def _read(self, tell: Tell) -> None:
        """Prepare the checks of each student's answers, in children: even reading a file may hang, or end Python."""
        for n, student in enumerate(self.students, 1):
            self.lines_to_read[student.name], self.functions[student.name] = {}, {}
            lessons = [lesson for lesson in student.lessons if any(_lesson(e) == lesson for e in self.exercises)]
            if lessons and not self._read_lessons(student, lessons):
                for lesson in lessons:
                    if not self._read_lessons(student, [lesson]):
                        student.notes.append((f"{lesson}.py", "class-unreadable"))
            tell("class-step-read", n, len(self.students))

    def _read_lessons(self, student: Student, lessons: list[str]) -> bool:
        exercises = [e for e in self.exercises if _lesson(e) in lessons]
        settings = dataclasses.replace(self.settings, answers=student.folder)
        read = student.reader()

        def look() -> object:
            checks = [checking.examine(self.catalogue.spec(e), settings, read) for e in exercises]
            examined = tuple(Examined(check.verdict, check.source) for check in checks)
            sources = {_lesson(check.spec.exercise): check.source for check in checks}
            blanks = {name: (self.catalogue.lessons / name / "exercises.py").read_text("utf-8") for name in sources}
            lines_to_read = {name: integrity.lines_to_read(source, blanks[name]) for name, source in sources.items()}
            functions = {}
            for check in checks:
                if not check.verdict.outcome:
                    functions[check.spec.exercise] = integrity.shape(check.source, check.spec.name)
            return encode(FilesRead(examined, lines_to_read, functions))

        read_apart = reading.apart(look, self.settings.limit, self.settings.memory)
        if read_apart is None:
            return False
        files = decode(FilesRead, read_apart)
        for exercise, examined in zip(exercises, files.exercises, strict=True):
            check = checking.Check(self.catalogue.spec(exercise), settings, examined.verdict, source=examined.source)
            self._checks[student.name, exercise] = check
        self.lines_to_read[student.name] |= files.lines_to_read
        self.functions[student.name] |= files.functions
        return True

    def _answers(self) -> list[list[Question]]:
        """Return the questions for each student's sandbox. Answers that cannot run are judged here."""
        work = []
        for student in self.students:
            asked = []
            for exercise in self.exercises:
                check = self._checks.get((student.name, exercise))
                if check is None:
                    continue
                if check.verdict.outcome:
                    self._judged[student.name, exercise] = self._in_words(check)
                elif isinstance(why := self._prepared[exercise], str):
                    self._judged[student.name, exercise] = self._broken("class-not-outside", error=why)
                else:
                    asked.append(self._see((student.name, exercise)))
            work.append(asked)
        return work

    def _see(self, answer: Answer) -> Question:
        check, ready = self._checks[answer], self._prepared[answer[1]]
        assert isinstance(ready, Prepared)
        spec, limit, memory = check.spec, self.settings.limit, self.settings.memory
        how = "export" if spec.how == "jit" else "call"
        about = how, spec.on_device, spec.work, spec.processes, spec.devices, ready.arguments
        request = See(Task(spec.lesson, spec.name, *about), check.verdict.file, check.source, limit, memory)

        def make() -> See | None:
            if hung := self._hung_files.get((answer[0], spec.lesson)):
                self._judged[answer] = hung
            return None if hung else request

        kept = ready.asked()

        def reply_to(line: bytes) -> AskReply | None:
            if not kept or ASK not in line or len(line) > LONGEST_QUESTION:
                return None
            try:
                ask = decode(Ask, json.loads(line))
            except (ValueError, RecursionError, Malformed):
                return None
            return AskReply(kept[ask.n].reply(ask.x)) if 0 <= ask.n < len(kept) else None

        return Question(answer, make, limit, memory * spec.processes + OWN_MEMORY, reply_to)

    def _measure(self, answer: Answer, reply: Path) -> Question:
        spec, ready = self._checks[answer].spec, self._prepared[answer[1]]
        assert isinstance(ready, Prepared)
        limit, memory = self.settings.limit, self.settings.memory

        def make() -> Measure:
            line = reply.read_text(encoding="utf-8", errors="replace")
            return Measure(spec.name, spec.devices, ready.cases, line, limit, memory)

        return Question(answer, make, limit, memory + OWN_MEMORY)

    def _judge(self, answer: Answer, line: bytes | str) -> None:
        """Read a reply and judge it, in a child that ends afterwards; or say why there is no reply."""
        if isinstance(line, str):
            self._judged[answer] = self._broken(line)
            return
        concluded = partial(self._concluded, answer, line)
        judged = reading.apart(lambda: encode(concluded()), *JUDGING)
        outcome = self._broken("class-sandbox-nonsense") if judged is None else decode(Outcome, judged)
        self._judged[answer] = outcome
        if outcome.at_import:
            self._hung_files[answer[0], _lesson(answer[1])] = outcome

    def _concluded(self, answer: Answer, line: bytes) -> Outcome:
        """Return the verdict in words. The observation comes from the submission, so it may contain anything."""
        check, ready = self._checks[answer], self._prepared[answer[1]]
        assert isinstance(ready, Prepared)
        check.cached = checking.CachedResults(ready.solution, ready.mistakes, prepared=True)
        try:
            results = decode(Results, json.loads(line)).results
        except (ValueError, RecursionError, Malformed):
            return self._broken("class-sandbox-nonsense")
        if len(results) != check.spec.processes:
            return self._broken("class-sandbox-nonsense")
        name = check.spec.name
        right = [result.cases(name) or () for result in ready.solution]
        checking.conclude(check, [_ours(result, name, cases) for result, cases in zip(results, right, strict=True)])
        return self._in_words(check)

    def _in_words(self, check: checking.Check) -> Outcome:
        text = checking.in_words(check, self.lang).replace(f"{self.settings.answers}{os.sep}", "")
        verdict = check.verdict
        return Outcome(verdict.outcome, verdict.mistake, text[:LONGEST_MESSAGE], checking.hung_at_import(verdict))

    def _broken(self, key: str, **values: object) -> Outcome:
        return Outcome("broken", message=say(key, self.lang, **values))

    def _outcome(self, student: Student, exercise: str) -> Outcome:
        if judged := self._judged.get((student.name, exercise)):
            return judged
        if key := student.refused.get(_lesson(exercise)):
            return Outcome("broken", message=f"{_lesson(exercise)}.py: {say(key, self.lang)}")
        return Outcome("absent")


def _lesson(exercise: str) -> str:
    return exercise.partition(".")[0]


def _ours(result: ProcessResult, name: str, right: Sequence[Observation]) -> ProcessResult:
    """Return a process's observations with the arguments and budgets that we sent; it may have changed its copies.

    A reply with a different number of cases is left as it is; the verdict will be that it makes no sense.
    """
    observed = result.cases(name)
    if observed is None or len(observed) != len(right):
        return result
    cases = (dataclasses.replace(a, args=b.args, budget=b.budget) for a, b in zip(observed, right, strict=True))
    return dataclasses.replace(result, file=FileObservation(functions={name: tuple(cases)}))
