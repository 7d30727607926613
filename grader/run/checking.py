"""Check one exercise from its spec to its verdict: the solution and the answer are observed in separate children.

The answer's child starts when the solution's child has ended, and finds in the compilation cache the programs that both
compile. Meanwhile the solution of the next exercise runs.
"""

import contextlib
import enum
import math
import os
import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from grader.exercise import answers
from grader.exercise.lesson_words import exercise_words
from grader.exercise.spec import Settings, Spec
from grader.exercise.statements import parameters
from grader.judge import reference
from grader.judge.alike import masked
from grader.judge.calls import other_calls
from grader.judge.compare import Difference
from grader.judge.mistakes import known_mistakes, recognise
from grader.judge.near_misses import near_miss
from grader.judge.several import together
from grader.judge.verdict import Seen, Verdict, judge, settle, show, wrong_cases
from grader.messages import Message
from grader.run import mistakes_seen, own_devices, sensitivity
from grader.run.outer_cluster import Worker
from grader.run.put_back import Kept
from grader.say.explain import explain
from grader.see import observe
from grader.see.observation import CodeLine, ProcessResult, is_complete, received
from grader.see.observe import Target
from minipod import forked


@dataclass
class CachedResults:
    """The observations on the inputs of one seed: those of the solution (None: not yet made) and of each mistake.

    prepared  whether the mistakes were observed before there was an answer
    """

    solution: list[ProcessResult] | None = None
    mistakes: dict[str, list[ProcessResult]] = field(default_factory=dict)
    prepared: bool = False


class Way(enum.Enum):
    """The place where an answer runs.

    NOT_HERE: nowhere, or in another program, which hands over its observations. CLUSTER: the one in which pytest was
    started. THIS_PROCESS: for a debugger.
    """

    NOT_HERE, CHILDREN, CLUSTER, THIS_PROCESS = enum.auto(), enum.auto(), enum.auto(), enum.auto()


@dataclass
class Check:
    """One exercise under way: `begin` starts its children, `finish` waits and judges.

    way  where the answer runs
    see  waits for the solution, which goes to `cached`, then for the answer; returns the observations of its processes
    counted  the same check on simulated devices, if this machine's own cannot count traffic; it is judged first
    """

    spec: Spec
    settings: Settings
    verdict: Verdict
    cached: CachedResults = field(default_factory=CachedResults)
    source: str = ""
    fingerprint: str = ""  # of the answers file
    way: Way = Way.NOT_HERE
    see: Callable[[], list[ProcessResult]] = list  # of nothing, where the answer is not run here
    counted: "Check | None" = None
    kept: Kept | None = None  # the answers folder, as it was when the children began


Reader = Callable[[Path], answers.Answers]
SURFACE = "LESSONS_SURFACE_FAULTS"  # in our own tests: a fault of ours is raised, and not only told


def begin(
    spec: Spec,
    settings: Settings,
    worker: Worker | None = None,
    cached: CachedResults | None = None,
    read: Reader = answers.read,
) -> Check:
    """Read the answers file; if there is an answer to run, start the solution or, if that is cached, the answer.

    worker  the one in the cluster that pytest itself was started in
    cached  results of an earlier check on the same seed; this check adds its own
    read    returns the answers file, perhaps as it was when the run began
    """
    check = examine(spec, settings, read)
    if cached is not None:
        check.cached = cached
    if check.verdict.outcome:
        return check
    if settings.machine:
        if why := own_devices.not_here(spec, settings.machine, worker is not None):
            settle(check.verdict, "skipped", why.key, **why.values)
            return check
        if own_devices.counted_beside(spec, settings.machine):
            check.counted = begin(spec, replace(settings, machine=None), read=read)
        check.spec = spec = own_devices.fitted(spec, settings.machine)
    check.kept = Kept(settings.answers)
    if worker and worker.failed_in:
        settle(check.verdict, "skipped", "cluster-lost", exercise=worker.failed_in)
    elif worker:
        check.way, check.see = Way.CLUSTER, partial(_in_cluster, check, worker)
    elif settings.fork:
        check.way, check.see = Way.CHILDREN, _in_children(check)
    elif spec.processes > 1:
        settle(check.verdict, "skipped", "no-fork")
    else:
        check.way, check.see = Way.THIS_PROCESS, partial(_here, check)
    return check


def examine(spec: Spec, settings: Settings, read: Reader = answers.read) -> Check:
    """Read the answers file without running it; the verdict has an outcome if there is no answer to run."""
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
    check.source, check.fingerprint = file.source, file.fingerprint
    verdict.line = file.functions.get(spec.name, 0)
    if spec.name in file.faults:
        verdict.line, message = file.faults[spec.name]
        settle(verdict, "broken", "syntax", error=message)
    elif not answers.may_define(file, spec.name):
        _not_begun(check, file, "function-missing")
    elif spec.name not in file.functions and file.fault:
        verdict.line, message = file.fault
        settle(verdict, "broken", "syntax", error=message)
    elif answers.is_blank(file, spec.folder / "exercises.py", spec.name):
        _not_begun(check, file, "todo")
    return check


def _not_begun(check: Check, file: answers.Answers, reason: str) -> None:
    """Set the verdict when there is no answer; look for one under an earlier name or chapter of the exercise."""
    spec, blanks = check.spec, check.spec.folder / "exercises.py"
    for before in exercise_words(spec.folder.parent, spec.exercise).formerly:
        lesson, _, old = before.rpartition(".")
        begun = _answers_of(file.path.with_name(f"{lesson}.py")) if lesson else file
        line = begun and (begun.functions.get(old) or begun.faults.get(old, (0, ""))[0])
        if begun and line and not answers.is_blank(begun, blanks, spec.name, old):
            settle(check.verdict, "todo", "renamed", old=old, old_line=line, file=str(begun.path))
            return
    settle(check.verdict, "todo", reason)


def _answers_of(path: Path) -> answers.Answers | None:
    """Return the answers to a different lesson, if they can be read."""
    try:
        return answers.read(path)
    except (OSError, UnicodeDecodeError):
        return None


def prepare(spec: Spec, settings: Settings, cached: CachedResults) -> None:
    """Observe the solution, then the mistakes, before there is an answer to compare them with."""
    if cached.solution is None:
        check = Check(spec, settings, Verdict(spec.exercise, ""), cached)
        cached.solution = _fork(check, _solution(check))()
    if not cached.prepared:
        mistakes_seen.see_quick(spec, settings, cached.mistakes)
        cached.prepared = True


def finish(check: Check) -> Verdict:
    """Wait for the solution, observe the answer, and judge it; restore files deleted in its folder meanwhile.

    It does not matter which answer deleted them: under pytest the next one is already running.
    """
    _finish(check)
    gone, error = check.kept.put_back() if check.kept else ((), "")
    if gone:
        check.verdict.deleted = Message(
            "not-put-back" if error else "deleted", {"files": ", ".join(gone), "error": error}
        )
    return check.verdict


def _finish(check: Check) -> Verdict:
    if check.counted and (counted := finish(check.counted)).outcome != "right":
        check.see()  # it has begun
        check.spec, check.verdict = check.counted.spec, counted
        return counted
    answer = [] if check.verdict.outcome else check.see()
    return check.verdict if check.verdict.outcome else conclude(check, answer)


def _in_children(check: Check) -> Callable[[], list[ProcessResult]]:
    """Start the solution's children and, once they have ended or if the solution is cached, the answer's."""
    wait_for_answer: Callable[[], list[ProcessResult]] = list

    def start_answer() -> None:
        nonlocal wait_for_answer
        wait_for_answer = _try_fork(check, _answer(check))

    if check.cached.solution:
        start_answer()
        return lambda: wait_for_answer()
    wait_for_solution = _try_fork(check, _solution(check), then=start_answer)

    def see() -> list[ProcessResult]:
        check.cached.solution = wait_for_solution()
        return wait_for_answer()

    return see


def _in_cluster(check: Check, worker: Worker) -> list[ProcessResult]:
    """Observe in the processes of the cluster in which pytest itself was started."""
    check.cached.solution = [] if worker.failed_in else worker.see(check.spec, _solution(check))
    if worker.failed_in:
        settle(check.verdict, "skipped", "cluster-lost", exercise=worker.failed_in)
        return []
    return worker.see(check.spec, _answer(check))


def _here(check: Check) -> list[ProcessResult]:
    """Observe in this process, without a fork, for debuggers."""
    from minipod.devices import simulate

    if not check.settings.machine:
        simulate(check.spec.devices)
    results = [observe.observe_file(check.spec, check.settings.seed, t) for t in (_solution(check), _answer(check))]
    check.cached.solution, answer = ([ProcessResult("ok", file)] for file in results)
    return answer


def conclude(check: Check, answer: Sequence[ProcessResult]) -> Verdict:
    """Return the verdict on the observations of an answer; name a mistake that behaves the same."""
    verdict, spec, solution = check.verdict, check.spec, check.cached.solution or []
    machine = check.settings.machine
    if machine and (error := reference.last_words(spec, solution) or reference.fault(spec, solution)):
        # pyrefly: ignore[missing-attribute]
        why = own_devices.too_few(spec, machine, error.partition("\n")[0])
        return settle(verdict, "skipped", why.key, **why.values)
    if spec.processes > 1 and not all(r.ready for r in solution):
        reason = next((r.text for r in solution if r.text), solution[0].status)
        return settle(verdict, "skipped", "no-cluster", error=masked(reason))
    if words := reference.last_words(spec, solution):
        return settle(verdict, "broken", "solution-ends", error=words)
    if fault := reference.fault(spec, solution):
        return settle(verdict, "broken", "lesson", error=fault)
    right = [result.cases(spec.name) or () for result in solution]
    if not all(is_complete(spec, len(right[0]), result) for result in answer):
        return settle(verdict, "broken", "spoilt")
    try:
        judge(spec, verdict, right, answer, spec.name, check.settings.limit)
        if verdict.stack:
            verdict.code = _own_lines(verdict.stack, check)
        if verdict.outcome in ("wrong", "hung") and not (machine and spec.processes > 1):
            with contextlib.suppress(OSError):  # no process could be started for the mistakes
                _name(check, right, list(answer))
        if verdict.outcome in ("wrong", "broken") and not (verdict.mistake or verdict.likely or verdict.together):
            seen = [result.cases(spec.name) or () for result in answer]
            verdict.near = near_miss(spec, verdict, right, seen)
            _note_unmoved(check, answer)
            _note_calls(check, right, answer)
    except Exception as error:
        _own_fault(verdict, error)
    return verdict


def _note_unmoved(check: Check, answer: Sequence[ProcessResult]) -> None:
    """Note the arguments on which a wrong number does not depend, if this process may call the answer again."""
    spec, settings, difference = check.spec, check.settings, check.verdict.difference
    here = check.way is Way.CHILDREN and not settings.machine and spec.processes == 1
    if (
        here
        and answer[0].status == "ok"
        and isinstance(difference, Difference)
        and difference.kind in ("numbers", "equal")
    ):
        solution = replace(_solution(check), oracle=False)
        names, took = parameters(spec.folder / "exercises.py", spec.name), answer[0].seconds
        check.verdict.unmoved = sensitivity.unmoved(spec, settings, names, solution, _answer(check), took)


def _note_calls(check: Check, right: Seen, answer: Sequence[ProcessResult]) -> None:
    """Note how the answer calls the functions among its arguments, in the case that is shown."""
    spec, verdict = check.spec, check.verdict
    cases = answer[0].cases(spec.name) or ()
    case = verdict.case if verdict.case is not None else 0
    if spec.processes == 1 and case < min(len(cases), len(right[0])):
        verdict.calls = other_calls(parameters(spec.folder / "exercises.py", spec.name), cases[case], right[0][case])


def _name(check: Check, right: Seen, answer: list[ProcessResult]) -> None:
    """Note the mistake behind a wrong answer; if it is only likely, show a case that tells."""
    spec, verdict, results = check.spec, check.verdict, check.cached.mistakes
    with contextlib.closing(
        mistakes_seen.look(spec, check.settings, results, mistakes_seen.is_slow(answer))
    ) as looking:
        recognised = recognise(spec, right, answer, verdict.file, results, looking)
    if recognised is None:
        names = [name for name in known_mistakes(spec) if name in results]
        several = together(spec, right, answer, results, names)
        verdict.partly = len(several) == 1
        verdict.likely = several[0] if verdict.partly else None
        verdict.together = several if len(several) > 1 else ()
        return
    if recognised.certain:
        verdict.mistake = recognised.name
        return
    if verdict.case not in recognised.cases:
        wrong = wrong_cases(spec, right, answer, spec.name)
        raised = {one.case for one in wrong if one.failure}
        if verdict.failure and len(raised) > len(recognised.cases):
            return  # the error is what there is to mend
        show(verdict, next(one for one in wrong if one.case in recognised.cases))
    verdict.likely = recognised.name


def in_words(check: Check, lang: str) -> str:
    """Return the verdict's explanation, safe for terminals and files: no broken characters, no cursor movements."""
    machine, memory = check.settings.machine, check.settings.memory
    limits = (check.settings.limit, math.inf if machine and machine.platform != "cpu" else memory)
    try:
        text = explain(check.spec, check.verdict, *limits, lang)
    except Exception as error:
        text = explain(check.spec, _own_fault(check.verdict, error), *limits, lang)
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)


def _own_fault(verdict: Verdict, error: Exception) -> Verdict:
    """Report a check that fails on a well-formed observation, which is not the learner's fault."""
    if os.environ.get(SURFACE):
        raise error
    # nothing is said of what was compared
    verdict.args = verdict.difference = verdict.failure = verdict.mistake = verdict.likely = verdict.near = None
    verdict.code, verdict.stack, verdict.together, verdict.unmoved, verdict.calls = (), "", (), (), ()
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    return settle(verdict, "broken", "own-fault", error=f"{type(error).__name__}: {error} ({place})")


def hung_at_import(verdict: Verdict) -> bool:
    """Return whether an answer hung in its file's top-level lines, outside all functions: then every answer hangs."""
    return verdict.outcome == "hung" and any(
        path == verdict.file and function == "<module>"
        for path, function in re.findall(r'File "([^"]+)", line \d+ in (.+)', verdict.stack)
    )


def _own_lines(stack: str, check: Check) -> tuple[CodeLine, ...]:
    """Return the learner's lines in faulthandler's traceback, outermost first."""
    lines = re.findall(r'File "([^"]+)", line (\d+)', stack)
    numbers = [int(n) for path, n in lines if path == check.verdict.file]
    code = check.source.split("\n")
    return tuple((n, code[n - 1]) for n in reversed(numbers[:2]) if n <= len(code))


def _solution(check: Check) -> Target:
    path = check.spec.root / "solutions" / f"{check.spec.lesson}.py"
    return Target(path, [check.spec.name], oracle=check.spec.oracle is not None)


def _answer(check: Check) -> Target:
    return Target(Path(check.verdict.file), [check.spec.name], check.source)


def _try_fork(
    check: Check, target: Target, then: Callable[[], None] | None = None
) -> Callable[[], list[ProcessResult]]:
    """Call `_fork`; if this machine allows no more processes or files, the verdict says so and nothing is observed."""
    try:
        return _fork(check, target, then)
    except OSError as error:
        settle(check.verdict, "broken", "no-process", error=error.strerror or str(error))
        return list


def _fork(check: Check, target: Target, then: Callable[[], None] | None = None) -> Callable[[], list[ProcessResult]]:
    """Start children that observe a file; call the result to wait for what they saw. then: called when they end."""
    spec, settings = check.spec, check.settings
    begun = observe.Begun(spec.processes)
    look = partial(observe.encoded, spec, settings.seed, target, begun)
    devices = settings.devices(spec)
    children = forked.start(look, spec.processes, devices, settings.limit, settings.memory, then=then)
    return lambda: [received(result, begun.count(n)) for n, result in enumerate(forked.wait(children))]
