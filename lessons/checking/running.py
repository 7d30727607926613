"""One exercise from its spec to its verdict: the solution and the answer are seen in separate children.

The answer's child starts when the solution's has ended, and finds in the compilation cache what both compile; meanwhile
the solution of the next exercise is at work.
"""

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lessons.checking import answers, observe
from lessons.checking.cluster import Worker
from lessons.checking.compare import difference, masked
from lessons.checking.explain import explain
from lessons.checking.mistakes import recognise, see_ahead
from lessons.checking.nearly import near_miss
from lessons.checking.spec import Settings, Spec
from lessons.checking.verdict import Verdict, judge, over_budget, settle
from lessons.checking.words import lesson_words
from minipod import forked


@dataclass
class Known:
    """What was seen on the inputs of one seed: of the solution (None: not yet), and of each mistake.

    ahead  the mistakes were looked at before there was an answer
    """

    solution: list[forked.Result] | None = None
    mistakes: dict[str, list[forked.Result]] = field(default_factory=dict)
    ahead: bool = False


@dataclass
class Check:
    """One exercise under way: `begin` starts its children, `finish` waits and judges."""

    spec: Spec
    settings: Settings
    verdict: Verdict
    known: Known = field(default_factory=Known)
    source: str = ""
    job: forked.Job | None = None  # of the solution
    after: forked.Job | None = None  # of the answer, once the solution's has ended
    worker: Worker | None = None  # of the cluster that pytest itself was started in


Reader = Callable[[Path], answers.Answers]
SPOILT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def begin(
    spec: Spec,
    settings: Settings,
    worker: Worker | None = None,
    known: Known | None = None,
    read: Reader = answers.read,
) -> Check:
    """Read the answers file; if there is an answer to run, start seeing the solution, or if that is known, the answer.

    worker  of the cluster that pytest itself was started in
    known   from an earlier check on the same seed; what this one sees is added
    read    gives the answers file, perhaps as it was when the run began
    """
    check = examine(spec, settings, read)
    if known is not None:
        check.known = known
    if check.verdict.outcome:
        return check
    if worker and worker.lost:
        settle(check.verdict, "skipped", "cluster-lost", exercise=worker.lost)
    elif worker:
        check.worker = worker
    elif settings.fork and check.known.solution:
        check.after = _start(check, *_answer(check))
    elif settings.fork:

        def answer() -> None:
            check.after = _start(check, *_answer(check))

        check.job = _start(check, *_solution(check), then=answer)
    elif spec.processes > 1:
        settle(check.verdict, "skipped", "no-fork")
    return check


def examine(spec: Spec, settings: Settings, read: Reader = answers.read) -> Check:
    """Read the answers file without running it; the verdict has an outcome when there is no answer to run."""
    path = settings.answers / f"{spec.lesson}.py"
    check = Check(spec, settings, Verdict(spec.exercise, "", file=str(path)))
    verdict = check.verdict
    try:
        file = read(path)
    except FileNotFoundError:
        settle(verdict, "broken", "file-missing")
        return check
    except (OSError, UnicodeDecodeError) as error:
        settle(verdict, "broken", "file-unreadable", error=getattr(error, "strerror", "") or str(error))
        return check
    check.source = file.source
    verdict.line = file.functions.get(spec.name, 0)
    if spec.name in file.faults:
        verdict.line, words = file.faults[spec.name]
        settle(verdict, "broken", "syntax", error=words)
    elif not answers.may_define(file, spec.name):
        _not_begun(check, file, "function-missing")
    elif spec.name not in file.functions and file.fault:
        verdict.line, words = file.fault
        settle(verdict, "broken", "syntax", error=words)
    elif answers.is_blank(file, spec.folder / "exercises.py", spec.name):
        _not_begun(check, file, "todo")
    return check


def _not_begun(check: Check, file: answers.Answers, reason: str) -> None:
    """There is no answer; where the exercise had another name before, there may be one under that."""
    blanks = check.spec.folder / "exercises.py"
    for old in lesson_words(check.spec.folder).get(check.spec.name, {}).get("formerly", []):
        line = file.functions.get(old) or file.faults.get(old, (0, ""))[0]
        if line and not answers.is_blank(file, blanks, check.spec.name, old):
            settle(check.verdict, "todo", "renamed", old=old, old_line=line)
            return
    settle(check.verdict, "todo", reason)


def prepare(spec: Spec, settings: Settings, known: Known) -> None:
    """See the solution, then the mistakes, before there is an answer to compare them with."""
    if known.solution is None:
        check = Check(spec, settings, Verdict(spec.exercise, ""), known)
        known.solution = forked.wait(_start(check, *_solution(check)))
    if not known.ahead:
        see_ahead(spec, settings, known.mistakes)
        known.ahead = True


def finish(check: Check) -> Verdict:
    """Wait for the solution, see the answer, and judge."""
    verdict, spec, known = check.verdict, check.spec, check.known
    if verdict.outcome:
        return verdict
    if check.job or check.after:
        if check.job:
            known.solution = forked.wait(check.job)
        answer = forked.wait(check.after) if check.after else []
    elif check.worker:
        known.solution = [] if check.worker.lost else check.worker.see(spec, *_solution(check))
        if check.worker.lost:
            return settle(verdict, "skipped", "cluster-lost", exercise=check.worker.lost)
        answer = check.worker.see(spec, *_answer(check))
    else:
        known.solution, answer = _here(check, *_solution(check)), _here(check, *_answer(check))
    return conclude(check, answer)


def conclude(check: Check, answer: list[forked.Result]) -> Verdict:
    """The verdict on what was seen of the answer, once the solution is known; names a mistake that does the same."""
    verdict, spec, solution = check.verdict, check.spec, check.known.solution or []
    if spec.processes > 1 and not all(r.ready for r in solution):
        reason = next((r.text for r in solution if r.text), solution[0].status)
        return settle(verdict, "skipped", "no-cluster", error=masked(reason))
    if fault := _faulty(spec, solution):
        return settle(verdict, "broken", "lesson", error=fault)
    right = [r.value["functions"][spec.name] for r in solution]
    try:
        judge(spec, verdict, right, answer, spec.name, check.settings.limit)
        if "where" in verdict.facts:
            verdict.facts["own"] = _own_lines(verdict.facts["where"], check)
        if verdict.outcome in ("wrong", "hung"):
            verdict.mistake = recognise(spec, check.settings, right, answer, verdict.file, check.known.mistakes)
        if verdict.outcome in ("wrong", "broken") and not verdict.mistake:
            with contextlib.suppress(*SPOILT):  # a value that is too odd for this is no near miss
                verdict.near = near_miss(spec, verdict, right, answer)
    except SPOILT:
        _spoilt(verdict)
    return verdict


def in_words(check: Check, lang: str) -> str:
    """The verdict's explanation, fit for a terminal and a file: no half characters, nothing that moves a cursor."""
    limits = (check.settings.limit, check.settings.memory)
    try:
        text = explain(check.spec, check.verdict, *limits, lang)
    except SPOILT:
        text = explain(check.spec, _spoilt(check.verdict), *limits, lang)
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)


def _spoilt(verdict: Verdict) -> Verdict:
    """The answer changed what looks at it, so that what was seen makes no sense."""
    verdict.args = verdict.difference = verdict.mistake = verdict.near = None
    return settle(verdict, "broken", "spoilt")


def _own_lines(stack: str, check: Check) -> list[tuple[int, str]]:
    """The learner's lines in faulthandler's traceback, outermost first."""
    lines = re.findall(r'File "([^"]+)", line (\d+)', stack)
    numbers = [int(n) for path, n in lines if path == check.verdict.file]
    code = check.source.split("\n")
    return [(n, code[n - 1]) for n in reversed(numbers[:2]) if n <= len(code)]


Who = tuple[Path, list[str], str | None, bool]


def _solution(check: Check) -> Who:
    path = check.spec.root / "solutions" / f"{check.spec.lesson}.py"
    return path, [check.spec.name], None, check.spec.oracle is not None


def _answer(check: Check) -> Who:
    return Path(check.verdict.file), [check.spec.name], check.source, False


def _start(check: Check, *who: Any, then: Callable[[], None] | None = None) -> forked.Job:
    spec, settings = check.spec, check.settings
    limits = {"seconds": settings.limit, "memory": settings.memory}
    return forked.start(_looker(check, *who), spec.processes, spec.devices, **limits, then=then)


def _looker(check: Check, path: Path, names: list[str], source: str | None, oracle: bool) -> Callable[[], Any]:
    return lambda: observe.observe_file(check.spec, check.settings.seed, path, names, source, oracle)


def _here(check: Check, *who: Any) -> list[forked.Result]:
    """Without a fork, for debuggers: in this very process."""
    from minipod.devices import simulate

    simulate(check.spec.devices)
    return [forked.Result("ok", value=_looker(check, *who)())]


def _faulty(spec: Spec, solution: list[forked.Result]) -> str | None:
    """What is wrong with the lesson itself, or None: the solution fails, or differs from the oracle."""
    for result in solution:
        if result.status != "ok":
            return f"solution {result.status}: {result.text}"
        if "load" in result.value:
            return f"solution: {result.value['load']['type']}: {result.value['load']['text']}"
        seen = result.value["functions"][spec.name]
        if seen is None:
            return "the solution is missing"
        if len(seen) * spec.processes < 2:
            return "at least two cases are needed"
        for n, case in enumerate(seen):
            if "error" in case:
                return f"solution, case {n}: {case['error']['type']}: {case['error']['text']} {case['error']['own']}"
            if budget := over_budget(case):
                return f"solution, case {n}: over the budget, {budget}"
        for n, (case, oracle) in enumerate(zip(seen, result.value["oracle"], strict=False)):
            if "error" in oracle:
                return f"oracle, case {n}: {oracle['error']['type']}: {oracle['error']['text']}"
            if "value" not in spec.compare and "printed" in spec.compare:
                if case["printed"] != oracle["value"].get("v"):
                    return f"case {n}: the solution printed {case['printed']!r}, the oracle says {oracle['value']}"
            elif found := difference(case["value"], oracle["value"], spec.tolerance, strict=False):
                return f"case {n}: solution and oracle differ in {found.kind} {found.path}{found.at}"
    return None
