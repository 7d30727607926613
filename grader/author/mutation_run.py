"""Judge mutants as answers are judged, many in one child: each case by case, up to the first that shows it.

A child writes down what it found after each mutant. One that ends the child, or takes too long, is caught by that, and
those behind it have a new child; so do they after one that has changed a setting of JAX, or has left its peer alone.
"""

import json
import signal
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from grader.author.mutants import Mutant
from grader.exercise.spec import Settings, Spec
from grader.judge import reference
from grader.judge.verdict import Verdict, judge
from grader.see import observe
from grader.see.observation import FileObservation, Observation, ProcessResult, received
from grader.see.observe import Target
from grader.see.wire import decode, encode
from minipod import forked
from minipod.cluster import coordinator_store

WORKING, WAITING = 8, 60  # seconds of the processor, and of the clock, that one mutant has
SLOWEST = 10  # seconds that each of many takes at most, on a busy machine
AT_ONCE, CLUSTERS = 2, 5  # children; clusters, whose processes mostly wait for one another


class Unjudged(Exception):
    """There is nothing to compare with: the solution itself is not right."""


def caught(spec: Spec, settings: Settings, mutants: Sequence[Mutant]) -> list[bool]:
    """Whether each mutant is judged to be anything but right, on the inputs of the settings' seed."""
    solution = _solution(spec, settings)
    right = [result.cases(spec.name) or () for result in solution]
    found: dict[int, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        several = CLUSTERS if spec.processes > 1 else AT_ONCE
        parts = [list(range(len(mutants)))[k::several] for k in range(several)]
        under_way = [_Part(spec, settings, mutants, right, part, Path(folder) / str(k)) for k, part in enumerate(parts)]
        while any(part.left for part in under_way):
            for part in under_way:
                part.begin()
            for part in under_way:
                found |= part.end()
    return [found[n] for n in range(len(mutants))]


def _solution(spec: Spec, settings: Settings) -> list[ProcessResult]:
    path = spec.root / "solutions" / f"{spec.lesson}.py"
    look = partial(observe.encoded, spec, settings.seed, Target(path, [spec.name], oracle=spec.oracle is not None))
    results = forked.run(look, spec.processes, spec.devices, settings.limit, settings.memory)
    solution = [received(result) for result in results]
    if why := reference.last_words(spec, solution) or reference.fault(spec, solution):
        raise Unjudged(f"with seed {settings.seed}: {why}")
    return solution


class _Part:
    """Mutants, by number, that are judged one after the other; `left` are those that are not yet."""

    def __init__(
        self,
        spec: Spec,
        settings: Settings,
        mutants: Sequence[Mutant],
        right: list[tuple[Observation, ...]],
        left: list[int],
        notes: Path,
    ) -> None:
        self.spec, self.settings, self.mutants, self.right = spec, settings, mutants, right
        self.left, self.notes = left, notes
        self.job: forked.Job | None = None

    def begin(self) -> None:
        """Start a child, or a cluster, on what is left."""
        if self.left:
            seconds = 2 * WAITING + SLOWEST * len(self.left)
            processes, memory = self.spec.processes, self.settings.memory
            self.job = forked.start(self._look, processes, self.spec.devices, seconds, memory)

    def end(self) -> dict[int, bool]:
        """Wait for it: which of those it came to were caught."""
        if not self.left or not self.job:
            return {}
        results = forked.wait(self.job)
        if not all(result.ready for result in results):
            raise Unjudged(next((r.text for r in results if r.text), "no cluster could be started"))
        noted = [_read(self._file(rank)) for rank in range(len(results))]
        done = [n for n in self.left if all(n in notes for notes in noted)]
        found = {n: self._is_caught([notes[n] for notes in noted]) for n in done}
        ended = any(result.status != "ok" for result in results)
        if ended and len(done) < len(self.left):
            found[self.left[len(done)]] = True  # it ended the child, or kept it for too long
        self.left = [n for n in self.left if n not in found]
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
        with self._file(jax.process_index()).open("w", encoding="utf-8") as notes:
            for n in self.left:
                signal.setitimer(signal.ITIMER_PROF, WORKING)
                signal.setitimer(signal.ITIMER_REAL, WAITING)
                cases = self._cases(self.mutants[n])
                print(json.dumps([n, encode(cases)]), file=notes, flush=True)
                if not self._goes_on(n, cases):
                    break
        return "done"

    def _cases(self, mutant: Mutant) -> FileObservation:
        """What it does; in one process only up to the first case that shows it to be wrong."""
        spec, seed = self.spec, self.settings.seed
        if spec.processes > 1:
            return observe.observe_file(spec, seed, Target(mutant.path, [spec.name], mutant.source))
        spec, drawn = observe.draw(spec, seed)
        try:
            function = getattr(observe.load(mutant.path, mutant.source), spec.name)
        except BaseException as error:
            return FileObservation(load=observe.failure_of(error, mutant.path))
        cases: list[Observation] = []
        for args, right in zip(drawn, self.right[0], strict=True):
            cases.append(observe.observe(function, args, spec, mutant.path))
            if not _is_right(spec, [(right,)], [_result(spec, cases[-1:])]):
                break
        return _result(spec, cases).file

    def _goes_on(self, n: int, seen: FileObservation) -> bool:
        """Whether another mutant would find all as this one did: in a cluster, whether its processes agree on that."""
        cases = seen.functions.get(self.spec.name) or ()
        fine = not any(case.changed and case.changed.setting for case in cases)
        if self.spec.processes == 1:
            return fine
        import jax

        ends = [f"{case.failure.type} {case.timed_out}" if case.failure else "" for case in cases]
        mine = json.dumps([fine, bool(seen.load), *ends])
        coordinator_store.put(f"mutants/{n}/{jax.process_index()}", mine)
        try:
            told = {coordinator_store.get(f"mutants/{n}/{k}", WAITING) for k in range(jax.process_count())}
        except Exception:
            return False
        return fine and len(told) == 1 and "True" not in "".join(ends)

    def _is_caught(self, files: list[FileObservation]) -> bool:
        if any(file.load for file in files):
            return True
        if self.spec.processes > 1:
            return not _is_right(self.spec, self.right, [ProcessResult("ok", file) for file in files])
        (file,) = files
        cases = file.functions[self.spec.name] or ()
        right = [self.right[0][: len(cases)]]
        return not _is_right(self.spec, right, [ProcessResult("ok", file)])


def _is_right(spec: Spec, right: Sequence[Sequence[Observation]], answer: list[ProcessResult]) -> bool:
    return judge(spec, Verdict(spec.exercise, ""), right, answer, spec.name).outcome == "right"


def _result(spec: Spec, cases: Sequence[Observation]) -> ProcessResult:
    return ProcessResult("ok", FileObservation(functions={spec.name: tuple(cases)}))


def _read(path: Path) -> dict[int, FileObservation]:
    """What a child noted, by the mutant's number; the last line may have been cut short."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            n, cases = json.loads(line)
        except ValueError:
            break
        found[n] = decode(FileObservation, cases)
    return found
