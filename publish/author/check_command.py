"""`python -m lessons check CHAPTER` in a checkout: whether everything of a chapter is there and holds, in one process.

The solution and each known mistake are seen once, on the inputs of one seed. Every answer that the author wrote is
judged against that: other right answers, the mistakes themselves, their second spellings, and wrong answers that are
no known mistakes.
"""

import argparse
import dataclasses
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from grader.exercise import answers, chapters
from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Settings, Spec
from grader.home import HERE
from grader.judge.alike import same_behaviour
from grader.judge.compare import Difference
from grader.judge.verdict import Verdict
from grader.messages import locale_language, say
from grader.run import checking, mistakes_seen
from grader.run.warm_up import warm_up
from grader.see.observation import ProcessResult
from minipod.processes import environment
from publish.author.chapter_files import ChapterFiles, Finding, functions, incomplete, mistakes_of
from publish.author.mutant_check import SEEDS, Tally, check_mutants
from publish.author.unfilled import exercises_left, unfilled
from publish.languages import unlike, unwritten

SPECIFIC = 0.7  # of the unlisted wrong answers get a message that says more than what differs
SEED, LIMIT, MEMORY = 11, 120.0, 2.0  # seconds even on a busy machine: who waits in vain is ended long before; GiB
# Dozens of answers are compiled, and each runs a few times: compiling costs more than what it saves.
QUICKLY = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
DESCRIPTION = (
    "Check everything of a chapter: solutions and other right answers pass, every mistake gets its name however it is "
    "spelled, no two mistakes behave alike, unlisted wrong answers are caught, and nothing is missing. "
    "One line a finding."
)


@dataclasses.dataclass(frozen=True)
class Judged:
    """An answer of the author's: a function of a file in the exercise's place, the verdict on it, what it is told."""

    file: Path
    function: str
    verdict: Verdict
    message: str

    def finding(self, chapter: ChapterFiles, expected: str) -> Finding:
        """That the verdict is another than it should be."""
        verdict = self.verdict
        named = f" and called {verdict.mistake}" if verdict.mistake else " without a name"
        found = verdict.outcome + named * (verdict.outcome in ("wrong", "hung"))
        said = f": {self.message}" if self.message else ""
        return Finding(chapter.place(self.file, self.function), f"is {found}, not {expected}{said}")


def judge_chapter(chapter: ChapterFiles, specs: list[Spec], shorter: bool = False) -> Iterator[Finding]:
    """What does not hold in a chapter, exercise by exercise; of files that are missing nothing is judged.

    shorter: without the mistakes' second spellings, third ways of being right, and unlisted wrong answers.
    """
    unlisted: list[Judged] = []
    for spec in specs:
        settings, cached = Settings(chapter.solution.parent, SEED, LIMIT, MEMORY), checking.CachedResults(prepared=True)
        checking.prepare(spec, settings, cached)
        (solution,) = _judge(spec, settings, cached, chapter.solution, [spec.name])
        if solution.verdict.outcome != "right":
            yield solution.finding(chapter, "right")
            continue  # there is nothing to compare with
        if chapter.mistakes.exists():
            mistakes_seen.see_all(spec, settings, cached.mistakes)
            yield from _alike(chapter, spec, cached)
        yield from _written_once(chapter, spec)
        for path in chapter.right[:1] if shorter else chapter.right:
            there = path not in chapter.optional or spec.name in functions(path)
            for judged in _judge(spec, settings, cached, path, [spec.name] if there else []):
                if judged.verdict.outcome != "right":
                    yield judged.finding(chapter, "right")
        named = itertools.chain(
            _judge_seen(chapter, spec, settings, cached),
            _judge(spec, settings, cached, chapter.wrong, [] if shorter else _of(spec, chapter.wrong)),
        )
        for judged in named:
            if judged.verdict.mistake != judged.function or judged.verdict.outcome not in ("wrong", "hung"):
                yield judged.finding(chapter, f"wrong and called {judged.function}")
        of_nobody = [] if shorter else _of(spec, chapter.unlisted)
        for judged in _judge(spec, settings, cached, chapter.unlisted, of_nobody):
            unlisted.append(judged)
            if (judged.verdict.outcome, judged.verdict.mistake) != ("wrong", None):
                yield judged.finding(chapter, "wrong without a name")
    yield from _general(chapter, unlisted)


def _written_once(chapter: ChapterFiles, spec: Spec) -> Iterator[Finding]:
    """What has to be written in one more way. A mistake where the same value can be had with other traffic, or by
    other means; a right answer also where the value is not all that is compared."""
    tells = spec.processes > 1 or spec.how == "jit" or spec.on_device
    again = {chapter.wrong: _of(spec, chapter.mistakes) if tells else []}
    again[chapter.right[1]] = [spec.name] if tells or set(spec.compare) != {"value"} else []
    for path, names in again.items():
        for name in names:
            if name not in functions(path):
                text = f"has no {name}: {spec.name} is judged by more than a value, so write it in one more way"
                yield Finding(chapter.place(path), text)


def _of(spec: Spec, path: Path) -> list[str]:
    return [name for name in mistakes_of(path) if name.startswith(f"{spec.name}__")]


def _judge(
    spec: Spec, settings: Settings, cached: checking.CachedResults, path: Path, names: Iterable[str]
) -> Iterator[Judged]:
    """Functions of a file, each taken as the answer and run in children of its own; one is started ahead."""
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
            verdict, message = _told(check)
            yield Judged(path, first, verdict, message.replace(f"{spec.lesson}.py", path.name))


def _as_answer(path: Path, name: str, exercise: str) -> checking.Reader:
    """Reads the file `path` for the answers file, as if its function `name` were called as the exercise is."""

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
    """The mistakes themselves, taken as answers that did what was seen of them."""
    for name, results in cached.mistakes.items():
        verdict = Verdict(spec.exercise, "", file=str(chapter.mistakes))
        check = checking.Check(spec, settings, verdict, cached, chapter.mistakes.read_text(encoding="utf-8"))
        checking.conclude(check, [_renamed(result, name, spec.name) for result in results])
        yield Judged(chapter.mistakes, name, *_told(check))


def _renamed(result: ProcessResult, name: str, exercise: str) -> ProcessResult:
    """What a process saw of function `name`, as if it had been called as the exercise is."""
    file = dataclasses.replace(result.file, functions={exercise: result.cases(name)})
    return dataclasses.replace(result, file=file)


def _told(check: checking.Check) -> tuple[Verdict, str]:
    message = checking.in_words(check, "en")
    return check.verdict, message  # which a fault in the telling has changed


def _alike(chapter: ChapterFiles, spec: Spec, cached: checking.CachedResults) -> Iterator[Finding]:
    """The pairs, of mistakes and the solution, that do the same on every input, in every process."""
    seen = {spec.name: (cached.solution or [], spec.name, str(chapter.solution))}
    seen |= {name: (results, name, str(chapter.mistakes)) for name, results in cached.mistakes.items()}
    for (one, a), (other, b) in itertools.combinations(seen.items(), 2):
        if same_behaviour(spec, a, b):
            whom = "the solution" if one == spec.name else one
            yield Finding(chapter.place(chapter.mistakes, other), f"cannot be told from {whom} by what it does")


def _general(chapter: ChapterFiles, unlisted: list[Judged]) -> Iterator[Finding]:
    """Too many unlisted wrong answers of which nothing is said but what differs."""
    general = [judged for judged in unlisted if not _is_told(judged.verdict)]
    if len(general) > (1 - SPECIFIC) * len(unlisted):
        said = " · ".join(f"{judged.function}: {judged.message}" for judged in general)
        text = f"{len(general)} of {len(unlisted)} are told only what differs, more than {1 - SPECIFIC:.0%}: {said}"
        yield Finding(chapter.place(chapter.unlisted), text)


def _is_told(verdict: Verdict) -> bool:
    """Whether more is said than what differs; of copies that drift apart, what differs is what is wrong."""
    found = verdict.difference
    of_copies = isinstance(found, Difference) and found.kind == "copies"
    return (
        bool(verdict.near or verdict.likely or verdict.together)
        or of_copies
        or verdict.reason in ("work", "work-undivided", "not-donated", "in-branch")
    )


def _judged(chapter: ChapterFiles, judge: Callable[[list[Spec]], Iterator[Finding]]) -> Iterator[Finding]:
    """What does not hold; nothing where there are no checks, or no solution to compare with."""
    if not (chapter.checks.exists() and chapter.solution.exists()):
        return
    left = exercises_left(chapter, functions(chapter.blanks))
    try:
        catalogue = Catalogue(chapter.root / "lessons", chapter.lesson)
        specs = [catalogue.spec(name) for name in catalogue.exercises if name.partition(".")[2] not in left]
    except Exception as error:
        yield Finding(chapter.place(chapter.checks), f"cannot be run: {type(error).__name__}: {error}")
    else:
        yield from judge(specs)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 when there is a finding, 2 for an unknown chapter."""
    parser = argparse.ArgumentParser(prog="python -m lessons check", description=DESCRIPTION)
    parser.add_argument("chapters", nargs="+", metavar="CHAPTER", help="such as ch03")
    parser.add_argument("--root", type=Path, default=HERE, help="holds lessons/, solutions/, tests/ (default: these)")
    parser.add_argument("--optimized", action="store_true", help="compile the answers as a learner's are: slower")
    parser.add_argument(
        "--shorter",
        action="store_true",
        help="without second spellings, third ways, unlisted answers",
    )
    parser.add_argument("--mutants", action="store_true", help="instead: do they see a small change of a right answer?")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help=f"… on so many seeds (default: {SEEDS})")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds takes 1 or more")
    root = options.root.resolve()
    there = chapters.lessons_in(root / "lessons")
    if not there:
        parser.error(f"there are no chapters in {root / 'lessons'}")
    chosen: list[ChapterFiles] = []
    for wanted in options.chapters:
        named = chapters.named(root / "lessons", wanted)
        if not named:
            print(say("check-chapter", locale_language(), chapter=wanted, known=", ".join(there)), file=sys.stderr)
            return 2
        chosen += [ChapterFiles(root, lesson) for lesson in named]
    environment.cleanse()
    os.environ.pop(checking.SURFACE, None)  # a fault of ours is a finding like the others
    if not options.optimized:
        os.environ |= QUICKLY
    warm_up(root / ".cache" / "jax")
    try:
        holds = partial(_report, shorter=options.shorter)
        report = partial(_report_mutants, seeds=options.seeds) if options.mutants else holds
        return max([report(chapter) for chapter in chosen])
    except KeyboardInterrupt:
        return 130
    except OSError as error:  # no process, or no file, any more
        print(f"This machine gives no more: {error.strerror or error}", file=sys.stderr)
        return 1


def _report(chapter: ChapterFiles, shorter: bool) -> int:
    """Print the findings on a chapter as they come, then how many and in how long; whether there are any."""
    start, found = time.monotonic(), 0
    missing = incomplete(chapter)
    left_out, wrong = unwritten(chapter.root, chapter.lesson)
    missing += map(Finding.read, [*wrong, *unlike(chapter.root, chapter.lesson)])
    readable = not any(finding.unreadable for finding in missing)
    judge = partial(judge_chapter, chapter, shorter=shorter)
    judged = _judged(chapter, judge) if readable else []
    for finding in itertools.chain(missing, unfilled(chapter), judged):
        print(finding, flush=True)
        found += 1
    for sentence in left_out:
        print(f"not yet in both languages: {sentence}")
    several = [functions(chapter.blanks), mistakes_of(chapter.mistakes), mistakes_of(chapter.unlisted)]
    counts = "exercises: {}, mistakes: {}, unlisted wrong answers: {}".format(*map(len, several))
    counts += "; without second spellings, third ways and unlisted answers" * shorter
    result = f"to be mended: {found}" if found else "everything holds"
    print(f"{chapter.lesson}: {result} ({counts}; {time.monotonic() - start:.0f} s)")
    if not found and chapters.is_draft(chapter.folder):
        print(f"take «draft = true» out of {chapter.place(chapter.facts)}: `make sync` then puts it into the book")
    if (chapter.root / "answers" / f"{chapter.lesson}.py").exists():
        print(say("check-yours", locale_language(), chapter=chapter.lesson), file=sys.stderr)
    return int(found > 0)


def _report_mutants(chapter: ChapterFiles, seeds: int) -> int:
    """The same of the chapter's mutants."""
    start, found, tally = time.monotonic(), 0, Tally()
    for finding in _judged(chapter, lambda specs: check_mutants(chapter, specs, seeds, tally)):
        print(finding, flush=True)
        found += 1
    result = f"to be mended: {found}" if found else "no hole"
    print(f"{chapter.lesson}: {result} ({tally}, seeds: {seeds}; {time.monotonic() - start:.0f} s)")
    return int(found > 0)
