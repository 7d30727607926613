"""Judge mutants as answers are judged, many in one child: each case by case, up to the first that shows it.

A child writes down what it found after each turn: one mutant on the inputs of one seed. One that ends the child, or
takes too long, is caught by that, and those behind it have a new child; so do they where one has left its peer alone.
"""

import json
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from grader.exercise.spec import Settings, Spec
from grader.judge import reference
from grader.judge.verdict import Verdict, judge
from grader.see import observe
from grader.see.observation import FileObservation, Observation, ProcessResult, received
from grader.see.observe import Target
from minipod import forked
from minipod.cluster import coordinator_store
from minipod.forked.child import COLLECTIVE_TIMEOUT
from publish.author.compiled_once import CompiledOnce
from publish.author.mutants import Mutant

WORKING, WAITING = 8, 60  # seconds of the processor, and of the clock, that one mutant has at most on one seed
SLOWER = 20  # so many times the solution's seconds, and one more, are enough
AGAIN = 4  # a mutant that has not come to its end on one seed has so many times less on each other seed
SLOWEST = 10  # seconds that each of many takes at most, on a busy machine
AT_ONCE, CLUSTERS = 2, 5  # children; clusters, whose processes mostly wait for one another
MANY = 150  # turns of one child: JAX keeps what it has traced


class Unjudged(Exception):
    """There is nothing to compare with: the solution itself is not right."""


def caught(spec: Spec, settings: Settings, seeds: int, mutants: Sequence[Mutant]) -> list[int]:
    """On how many of so many seeds, from the settings' on, each mutant is judged to be anything but right."""
    right, seconds = _solution(spec, settings, seeds)
    caught_on = [0] * len(mutants)
    with tempfile.TemporaryDirectory() as folder:
        several = CLUSTERS if spec.processes > 1 else AT_ONCE
        of_part = [range(k, len(mutants), several) for k in range(several)]
        parts = [[(n, k) for n in numbers for k in range(seeds)] for numbers in of_part]
        task = _Task(spec, settings, mutants, right, min(WORKING, 1 + SLOWER * seconds))
        under_way = [_Part(task, part, Path(folder) / str(k)) for k, part in enumerate(parts)]

        def go_on() -> None:
            for part in under_way:
                for (n, _), is_caught in part.end().items():
                    caught_on[n] += is_caught
                part.begin()

        forked.on_turn.append(go_on)
        try:
            go_on()
            while at_work := [part.job for part in under_way if part.job]:
                forked.wait(at_work[0])
        finally:
            forked.on_turn.remove(go_on)
    return caught_on


Turn = tuple[int, int]  # a mutant's number, and which of the seeds
Right = list[list[tuple[Observation, ...]]]  # what the solution does: for each seed, in each process


def _solution(spec: Spec, settings: Settings, seeds: int) -> tuple[Right, float]:
    """What it does, and the most seconds of the processor that it takes for one seed, in one process."""
    target = Target(spec.root / "solutions" / f"{spec.lesson}.py", [spec.name], oracle=spec.oracle is not None)

    def look() -> list[tuple[object, float]]:
        return [_timed(partial(observe.encoded, spec, settings.seed + k, target)) for k in range(seeds)]

    results = forked.run(look, spec.processes, spec.devices, settings.limit * seeds, settings.memory)
    right = []
    for k in range(seeds):
        of_seed = [replace(r, value=r.value[k][0]) if r.status == "ok" else r for r in results]
        solution = [received(result) for result in of_seed]
        if why := reference.last_words(spec, solution) or reference.fault(spec, solution):
            raise Unjudged(f"with seed {settings.seed + k}: {why}")
        right.append([result.cases(spec.name) or () for result in solution])
    return right, max(seconds for result in results for _, seconds in result.value)


def _timed(look: Callable[[], object]) -> tuple[object, float]:
    start = time.process_time()
    return look(), time.process_time() - start


@dataclass(frozen=True)
class _Task:
    """What all parts share. working: seconds of the processor that a mutant has on one seed."""

    spec: Spec
    settings: Settings
    mutants: Sequence[Mutant]
    right: Right
    working: float


@dataclass
class _Seen:
    """Of a mutant on one seed, in one process.

    right   whether every case is, in all processes
    ends    of each case that was tried the type of the error, "" for none
    waited  whether it waited in vain for another process
    """

    right: bool
    ends: list[str] = field(default_factory=list)
    waited: bool = False


class _Part:
    """Mutants, by number, each on one seed after the other; `left` are the turns that are not judged yet."""

    def __init__(self, task: _Task, left: list[Turn], notes: Path) -> None:
        self.task, self.spec, self.left, self.notes = task, task.spec, left, notes
        self.endless: set[int] = set()  # mutants that used up their time on some seed, or waited in vain
        self.turns: list[Turn] = []  # those of the child, or cluster, that is at work
        self.job: forked.Job | None = None

    def begin(self) -> None:
        """Start a child, or a cluster, on what is left, where none is at work."""
        if self.job or not self.left:
            return
        first, _ = self.left[0]
        again = first in self.endless
        self.turns = [turn for turn in self.left[:MANY] if turn[0] == first or not again]
        self.job = forked.start(
            self._look,
            self.spec.processes,
            self.spec.devices,
            seconds=2 * WAITING + SLOWEST * len(self.turns),
            memory=self.task.settings.memory,
            collective=max(COLLECTIVE_TIMEOUT // (AGAIN if again else 1), 2),
        )

    def end(self) -> dict[Turn, bool]:
        """Where it has ended: which of those it came to were caught."""
        if not self.job or not self.job.results:
            return {}
        results, self.job = self.job.results, None
        if not all(result.ready for result in results):
            raise Unjudged(next((r.text for r in results if r.text), "no cluster could be started"))
        noted = [_read(self._file(rank)) for rank in range(len(results))]
        done = [turn for turn in self.turns if all(turn in notes for notes in noted)]
        found = {turn: not all(notes[turn].right for notes in noted) for turn in done}
        ended = any(result.status != "ok" for result in results)
        self.endless |= {turn[0] for turn in done if any(notes[turn].waited for notes in noted)}
        if ended and len(done) < len(self.turns):
            turn = self.turns[len(done)]
            found[turn] = True  # it ended the child, or kept it for too long
            if any(r.status == "hung" or r.text in (signal.SIGPROF.name, signal.SIGALRM.name) for r in results):
                self.endless.add(turn[0])
        self.left = [turn for turn in self.left if turn not in found]
        for rank in range(len(results)):
            self._file(rank).unlink(missing_ok=True)
        return found

    def _file(self, rank: int) -> Path:
        return self.notes.with_suffix(f".{rank}")

    def _look(self) -> str:
        """In the child: judge one mutant after the other as far as nothing is left behind that another could meet."""
        import jax

        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        settings, programs = dict(jax.config.values), {}
        with self._file(jax.process_index()).open("w", encoding="utf-8") as notes:
            for turn in self.turns:
                n, _ = turn
                signal.setitimer(signal.ITIMER_PROF, self.task.working / (AGAIN if n in self.endless else 1))
                signal.setitimer(signal.ITIMER_REAL, WAITING)
                programs = {n: programs.get(n) or CompiledOnce()}  # those of this mutant alone
                seen = self._cases(turn, programs[n])
                for name, value in settings.items():
                    if jax.config.values.get(name) != value:
                        jax.config.update(name, value)
                print(json.dumps([turn, asdict(seen)]), file=notes, flush=True)
                if not self._goes_on(turn, seen):
                    break
        return "done"

    def _cases(self, turn: Turn, compiler: CompiledOnce) -> _Seen:
        """What comes of it, up to the first case that shows it, in any process, to be wrong."""
        import jax

        (n, k), spec, rank = turn, self.spec, jax.process_index()
        mutant = self.task.mutants[n]
        spec, drawn = observe.draw(spec, self.task.settings.seed + k)
        try:
            function = getattr(observe.load(mutant.path, mutant.source), spec.name)
        except BaseException as error:
            return _Seen(right=False, ends=[f"when loaded: {type(error).__name__}"])
        seen = _Seen(right=True)
        for args, right in zip(drawn, self.task.right[k][rank], strict=True):
            case = observe.observe(function, args, spec, mutant.path, compiler)
            if case.changed:
                compiler.forget()
            seen.ends.append(case.failure.type if case.failure else "")
            seen.waited |= case.timed_out
            fine = _is_right(spec, right, case)
            if not (fine if spec.processes == 1 else observe.all_fine(fine)):
                seen.right = False
                break
        return seen

    def _goes_on(self, turn: Turn, seen: _Seen) -> bool:
        """Whether another mutant would find all as this one did: in a cluster, whether its processes agree on that."""
        if self.spec.processes == 1:
            return True
        import jax

        place = f"mutants/{turn}"
        coordinator_store.put(f"{place}/{jax.process_index()}", json.dumps([seen.waited, *seen.ends]))
        try:
            told = {coordinator_store.get(f"{place}/{k}", WAITING) for k in range(jax.process_count())}
        except Exception:
            return False
        return len(told) == 1 and not seen.waited


def _is_right(spec: Spec, right: Observation, case: Observation) -> bool:
    seen = ProcessResult("ok", FileObservation(functions={spec.name: (case,)}))
    return judge(spec, Verdict(spec.exercise, ""), [(right,)], [seen], spec.name).outcome == "right"


def _read(path: Path) -> dict[Turn, _Seen]:
    """What a child noted of each turn; the last line may have been cut short."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            (n, k), seen = json.loads(line)
        except ValueError:
            break
        found[n, k] = _Seen(**seen)
    return found
