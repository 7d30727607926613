"""Run `python -m lessons check CHAPTER` in a checkout: report whether a chapter is complete and its checks work.

One process observes the solution and each known mistake once, on the inputs of one seed. It compares all of the
author's answers with these: the mistakes themselves, and the other answers, whose names say which verdict they need:

rows_of__right, rows_of__right_…    right
rows_of__MISTAKE of mistakes.py     wrong, with this name: useful if a compiled program is judged, too
rows_of__…                          wrong, and none of the known mistakes
"""

import argparse
import dataclasses
import itertools
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from grader.exercise import answers, chapters
from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Settings, Spec
from grader.home import HERE
from grader.judge.alike import same_behaviour
from grader.judge.verdict import Verdict
from grader.messages import locale_language, say
from grader.run import checking, mistakes_seen
from grader.run.warm_up import warm_up
from grader.see.observation import ProcessResult
from minipod.processes import environment
from publish.author.chapter_files import RIGHT, ChapterFiles, Finding, functions, incomplete, mistakes_of
from publish.author.templates import exercises_left, unfilled
from publish.languages import unlike, unwritten

SEED, MEMORY = 11, 2.0  # GiB
LIMIT = 120.0  # seconds for an answer, on a busy machine too
# Dozens of answers are compiled, and each runs a few times: optimizing would take longer than it saves.
QUICKLY = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
DESCRIPTION = (
    "Check that a chapter's files are complete, that right answers pass, that each known mistake is recognised and "
    "differs from every other, and that other wrong answers are caught. Print one line for each fault. You can add "
    "answers for it to try: functions in tests/data/other_answers/CHAPTER.py, whose names give the verdict that they "
    "should get: rows_of__right or rows_of__right_sorted for a right answer, rows_of__MISTAKE for a known mistake "
    "that is written differently, and any other rows_of__NAME for a wrong answer."
)


@dataclasses.dataclass(frozen=True)
class Expected:
    """The verdict that an answer should get. mistake: the known one that it makes; None if it is right or not known."""

    outcome: str
    mistake: str | None = None

    @classmethod
    def of(cls, name: str, mistakes: Iterable[str]) -> "Expected":
        """Read the name of another answer, such as rows_of__right or rows_of__whole."""
        if name in mistakes:
            return cls("wrong", name)
        _, _, why = name.partition("__")
        return cls("right" if why.split("_")[0] == RIGHT else "wrong")

    def is_met_by(self, verdict: Verdict) -> bool:
        """Return whether the verdict is the expected one; a known mistake may also hang."""
        outcomes = {self.outcome, "hung"} if self.mistake else {self.outcome}
        return verdict.outcome in outcomes and verdict.mistake == self.mistake

    def __str__(self) -> str:
        return _described(self.outcome, self.mistake)


def _described(outcome: str, mistake: str | None) -> str:
    if outcome not in ("wrong", "hung"):
        return outcome
    return f"{outcome} and called {mistake}" if mistake else f"{outcome} without a name"


@dataclasses.dataclass(frozen=True)
class Judged:
    """A function of a file, judged as the answer to an exercise, and the message that a learner would read."""

    file: Path
    function: str
    verdict: Verdict
    message: str

    def finding(self, chapter: ChapterFiles, expected: Expected) -> Iterator[Finding]:
        """Yield a finding if the verdict is not the expected one."""
        verdict = self.verdict
        if not expected.is_met_by(verdict):
            message = f": {self.message}" if self.message else ""
            actual = _described(verdict.outcome, verdict.mistake)
            yield Finding(chapter.place(self.file, self.function), f"is {actual}, not {expected}{message}")


def judge_chapter(chapter: ChapterFiles, specs: list[Spec], shorter: bool = False) -> Iterator[Finding]:
    """Yield the findings about a chapter, exercise by exercise. Missing files are not judged.

    shorter: whether to judge only the right ones of the other answers.
    """
    mistakes = mistakes_of(chapter.mistakes)
    for spec in specs:
        settings, cached = Settings(chapter.solution.parent, SEED, LIMIT, MEMORY), checking.CachedResults(prepared=True)
        checking.prepare(spec, settings, cached)
        (solution,) = _judge(spec, settings, cached, chapter.solution, [spec.name])
        if solution.verdict.outcome != "right":
            yield from solution.finding(chapter, Expected("right"))
            continue  # there is nothing to compare with
        if chapter.mistakes.exists():
            mistakes_seen.see_all(spec, settings, cached.mistakes)
            yield from _alike(chapter, spec, cached)
        for judged in _judge_seen(chapter, spec, settings, cached):
            yield from judged.finding(chapter, Expected("wrong", judged.function))
        names = [name for name in mistakes_of(chapter.other_answers) if name.startswith(f"{spec.name}__")]
        if shorter:
            names = [name for name in names if Expected.of(name, mistakes).outcome == "right"]
        for judged in _judge(spec, settings, cached, chapter.other_answers, names):
            yield from judged.finding(chapter, Expected.of(judged.function, mistakes))


def _judge(
    spec: Spec, settings: Settings, cached: checking.CachedResults, path: Path, names: Iterable[str]
) -> Iterator[Judged]:
    """Judge functions of a file, each as if it were the answer. While one is judged, the next one already runs."""
    if not path.exists():
        return
    settings = dataclasses.replace(settings, answers=path.parent)
    under_way: list[tuple[str, checking.Check]] = []
    for name in [*names, ""]:
        if name:
            read = _as_answer(path, name, spec.name)
            under_way.append((name, checking.begin(spec, settings, cached=cached, read=read)))
        while under_way and (len(under_way) > 1 or not name):
            first, check = under_way.pop(0)
            checking.finish(check)
            yield _judged(path, first, check)


def _as_answer(path: Path, name: str, exercise: str) -> checking.Reader:
    """Make a reader that takes the file `path` as the answers, and its function `name` as the exercise's answer."""

    def read(_: Path) -> answers.Answers:
        file = answers.read(path)
        if name != exercise:
            file.source += f"\n{exercise} = {name}\n"
            file.functions[exercise] = file.functions[name]
        return file

    return read


def _judge_seen(
    chapter: ChapterFiles, spec: Spec, settings: Settings, cached: checking.CachedResults
) -> Iterator[Judged]:
    """Judge the mistakes themselves by their observations; nothing runs again."""
    for name, results in cached.mistakes.items():
        verdict = Verdict(spec.exercise, "", file=str(chapter.mistakes))
        check = checking.Check(spec, settings, verdict, cached, chapter.mistakes.read_text(encoding="utf-8"))
        checking.conclude(check, [_renamed(result, name, spec.name) for result in results])
        yield _judged(chapter.mistakes, name, check)


def _renamed(result: ProcessResult, name: str, exercise: str) -> ProcessResult:
    """Return a process's observations of the function `name`, under the name of the exercise."""
    file = dataclasses.replace(result.file, functions={exercise: result.cases(name)})
    return dataclasses.replace(result, file=file)


def _judged(file: Path, function: str, check: checking.Check) -> Judged:
    message = checking.in_words(check, "en")  # first: if this fails, it changes the verdict
    return Judged(file, function, check.verdict, message)


def _alike(chapter: ChapterFiles, spec: Spec, cached: checking.CachedResults) -> Iterator[Finding]:
    """Yield a finding for each mistake that behaves like another, or like the solution, on every input."""
    results_of = {spec.name: (cached.solution or [], spec.name, str(chapter.solution))}
    results_of |= {name: (results, name, str(chapter.mistakes)) for name, results in cached.mistakes.items()}
    for (one, a), (other, b) in itertools.combinations(results_of.items(), 2):
        if same_behaviour(spec, a, b):
            twin = "the solution" if one == spec.name else one
            yield Finding(chapter.place(chapter.mistakes, other), f"does the same as {twin} in every case")


def _run(chapter: ChapterFiles, shorter: bool) -> Iterator[Finding]:
    """Run and judge the exercises that are filled in; do nothing if checks or solutions are missing."""
    if not (chapter.checks.exists() and chapter.solution.exists()):
        return
    stubs = exercises_left(chapter, functions(chapter.blanks))
    try:
        catalogue = Catalogue(chapter.root / "lessons", chapter.lesson)
        specs = [catalogue.spec(name) for name in catalogue.exercises if name.partition(".")[2] not in stubs]
    except Exception as error:
        yield Finding(chapter.place(chapter.checks), f"cannot be run: {type(error).__name__}: {error}")
    else:
        yield from judge_chapter(chapter, specs, shorter)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if there is a finding, 2 for an unknown chapter."""
    parser = argparse.ArgumentParser(prog="python -m lessons check", description=DESCRIPTION)
    parser.add_argument("chapters", nargs="+", metavar="CHAPTER", help="chapter to check, such as ch03")
    parser.add_argument(
        "--root", type=Path, default=HERE, help="folder with lessons/, solutions/ and tests/ (default: this project)"
    )
    parser.add_argument(
        "--optimized", action="store_true", help="compile answers with the same settings as learners' answers (slower)"
    )
    parser.add_argument(
        "--shorter", action="store_true", help="judge only the right answers of tests/data/other_answers"
    )
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    lessons = chapters.lessons_in(root / "lessons")
    if not lessons:
        parser.error(f"there are no chapters in {root / 'lessons'}")
    chosen: list[ChapterFiles] = []
    for wanted in options.chapters:
        named = chapters.named(root / "lessons", wanted)
        if not named:
            print(say("check-chapter", locale_language(), chapter=wanted, known=", ".join(lessons)), file=sys.stderr)
            return 2
        chosen += [ChapterFiles(root, lesson) for lesson in named]
    environment.cleanse()
    os.environ.pop(checking.SURFACE, None)  # a fault of the grader is a finding, too
    if not options.optimized:
        os.environ |= QUICKLY
    warm_up(root / ".cache" / "jax")
    try:
        return max([_report(chapter, options.shorter) for chapter in chosen])
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(f"This machine has no room for more processes or files: {error.strerror or error}", file=sys.stderr)
        return 1


def _report(chapter: ChapterFiles, shorter: bool) -> int:
    """Print each finding when it is made, then their number; return 1 if there is any."""
    start, count = time.monotonic(), 0
    findings = incomplete(chapter)
    left_out, wrong = unwritten(chapter.root, chapter.lesson)
    findings += map(Finding.read, [*wrong, *unlike(chapter.root, chapter.lesson)])
    readable = not any(finding.unreadable for finding in findings)
    of_running = _run(chapter, shorter) if readable else []
    for finding in itertools.chain(findings, unfilled(chapter), of_running):
        print(finding, flush=True)
        count += 1
    for sentence in left_out:
        print(f"not yet in both languages: {sentence}")
    names = [functions(chapter.blanks), mistakes_of(chapter.mistakes), mistakes_of(chapter.other_answers)]
    counts = "exercises: {}, mistakes: {}, other answers: {}".format(*map(len, names))
    result = f"faults: {count}" if count else "everything holds"
    print(f"{chapter.lesson}: {result} ({counts}; {time.monotonic() - start:.0f} s)")
    if not count and chapters.is_draft(chapter.folder):
        print(f"Delete `draft = true` in {chapter.place(chapter.facts)}; `make sync` then puts it into the book.")
    if (chapter.root / "answers" / f"{chapter.lesson}.py").exists():
        print(say("check-yours", locale_language(), chapter=chapter.lesson), file=sys.stderr)
    return int(count > 0)
