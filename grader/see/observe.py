"""Observe functions in a child: value, placement, output, traffic, or error."""

import contextlib
import io
import itertools
import linecache
import mmap
import re
import sys
import traceback
import types
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.exercise.spec import Spec
from grader.see import branches, programs
from grader.see.called import Watch
from grader.see.compiled import Compiler, budget_of, compiled, of_arrays, work_of
from grader.see.left_behind import Before, given_up
from grader.see.observation import (
    CodeLine,
    Failure,
    FileObservation,
    Observation,
    Truth,
)
from grader.see.packing import pack
from grader.see.values import Value
from grader.see.wire import encode
from minipod.cluster import coordinator_store

PATIENCE = 6.0  # seconds for the other processes after each case; a collective in a check gives up before
_turns = itertools.count()


def load(path: Path, source: str | None = None) -> types.ModuleType:
    """Run a Python file as a module of its own. source: replaces its text."""
    module = types.ModuleType("_".join((path.parent.name, path.stem)))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look their module up
    text = path.read_text(encoding="utf-8") if source is None else source
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


class Begun:
    """The number of cases that each process has begun, in memory shared with children, which may never return."""

    def __init__(self, processes: int) -> None:
        self._shared = mmap.mmap(-1, processes)

    def next(self) -> None:
        """In a child: count that a case begins."""
        import jax

        place = jax.process_index()
        self._shared[place] = min(self._shared[place] + 1, 255)

    def count(self, process: int) -> int:
        """In the parent: return how many cases this process has begun."""
        return self._shared[process]


@dataclass(frozen=True)
class Target:
    """The functions to observe in a file, whose text may be given. oracle: whether to observe the oracle first."""

    path: Path
    names: Sequence[str]
    source: str | None = None
    oracle: bool = False


def observe_file(spec: Spec, seed: int, target: Target, begun: Begun | None = None) -> FileObservation:
    """Load a file and observe its functions. begun: counts the cases that have begun."""
    import jax

    jax.config.update("jax_traceback_filtering", "off")  # a blank is told by its last frame
    path, names = target.path, target.names
    spec, drawn = draw(spec, seed)  # before the file can change anything
    expected = tuple(_truth(spec.oracle, args, path) for args in drawn if target.oracle)
    try:
        text = path.read_text(encoding="utf-8") if target.source is None else target.source
        module = load(path, text)
    except BaseException as error:
        return FileObservation(load=failure_of(error, path))
    functions: dict[str, tuple[Observation, ...] | None] = {}
    for name in names:
        if (function := getattr(module, name, None)) is None:
            functions[name] = None
        else:
            functions[name] = _cases(function, drawn, spec, path, text, begun)
            if name != names[-1]:
                spec, drawn = draw(spec, seed)  # arguments may have been changed or donated
    return FileObservation(functions=functions, oracle=expected)


def encoded(spec: Spec, seed: int, target: Target, begun: Begun | None = None) -> object:
    """Encode the result of `observe_file` in the form in which a child sends it to its parent."""
    return encode(observe_file(spec, seed, target, begun))


def _cases(
    function: Callable[..., Any],
    drawn: list[tuple[Any, ...]],
    spec: Spec,
    path: Path,
    text: str,
    begun: Begun | None,
) -> tuple[Observation, ...]:
    """Observe a function in each case. In a cluster, all processes go from case to case together, so that a collective
    that one has left out cannot meet a later one. After a wait in vain, the remaining cases are not tried."""
    cases: list[Observation] = []
    fine, may_part = True, branches.BRANCHES.search(text)
    for args in drawn:
        if begun:
            begun.next()
        if may_part and (fault := branches.failure(function, args, str(path))):
            cases.append(Observation(_packed(args), failure=fault))
        elif fine:
            cases.append(observe(function, args, spec, path))
            fine = spec.processes == 1 or all_fine(not cases[-1].timed_out)
        else:
            cases.append(Observation(_packed(args), failure=Failure("TimeoutError", "Timed out before")))
    return tuple(cases)


def _packed(args: tuple[Any, ...]) -> tuple[Value, ...]:
    return tuple(pack(arg, data=False) for arg in args)


def all_fine(mine: bool) -> bool:
    """Return whether every process of the cluster has reached this point without an error."""
    import jax

    turn = next(_turns)
    try:
        coordinator_store.put(f"lessons/case/{turn}/{jax.process_index()}", "fine" if mine else "timed out")
        others = range(jax.process_count())
        return all(coordinator_store.get(f"lessons/case/{turn}/{i}", PATIENCE) == "fine" for i in others) and mine
    except Exception:  # no process, or no coordinator, any more
        return False


def _truth(oracle: Any, args: tuple[Any, ...], path: Path) -> Truth:
    try:
        return Truth(pack(oracle(*args)))
    except BaseException as error:
        return Truth(failure=failure_of(error, path))


def draw(spec: Spec, seed: int) -> tuple[Spec, list[tuple[Any, ...]]]:
    """Draw the argument tuples of an exercise, the same in every process with this seed; also return the spec."""
    import numpy as np

    spec = spec.again() if spec.again else spec
    rng = np.random.default_rng([seed, zlib.crc32(spec.exercise.encode())])
    return spec, [tuple(args) for args in spec.cases(rng)]


def observe(
    function: Callable[..., Any], args: tuple[Any, ...], spec: Spec, path: Path, compiler: Compiler | None = None
) -> Observation:
    """Observe one case. compiler: replaces `compiled` if how="jit"."""
    before, budget, as_found, watch = _packed(args), budget_of(spec, args), Before(args), Watch(args)
    value, failure, traffic, leaves = None, None, None, None
    tee = _Tee(sys.stdout)
    with contextlib.redirect_stdout(tee):
        try:
            run, given = function, watch.args
            if spec.how == "export":
                value = programs.export(*of_arrays(function, given))
            else:
                if spec.how == "jit":
                    run, given, traffic = (compiler or compiled)(function, given, budget)
                value = pack(run(*given))
                _wait_for_prints()
        except BaseException as error:  # SystemExit, too: it is the answer's doing
            value, failure = None, failure_of(error, path)
    changed = as_found.change() if value is not None else None
    gone = given_up(args) if value is not None else ()
    if spec.work and spec.how == "call" and value is not None:
        traffic = work_of(function, args)
    if spec.on_device and value is not None:
        leaves = _leaves_devices(function, args)
    return Observation(before, value, failure, tee.text(), budget, traffic, leaves, changed, gone, watch.calls())


def _wait_for_prints() -> None:
    import jax

    jax.effects_barrier()  # jax.debug.print comes late


def _leaves_devices(function: Callable[..., Any], args: tuple[Any, ...]) -> str | None:
    """Return how a called function leaves the devices on the way, as a key of messages.toml; None if it does not.

    "on-host": it cannot be traced, because it needs numbers on the host. "piece-by-piece": it moves pieces to single
    devices one by one. A function that cannot be traced for a different reason is judged by its value alone.
    """
    import jax

    program, arrays = of_arrays(function, args)
    errors = jax.errors
    needs_numbers = (
        errors.TracerArrayConversionError,
        errors.TracerIntegerConversionError,
        errors.ConcretizationTypeError,
        errors.NonConcreteBooleanIndexError,
    )
    try:
        steps = jax.make_jaxpr(program)(*arrays).jaxpr.eqns
    except needs_numbers as error:
        return None if re.search(r"addressable_|devices\(\)|sharding", str(error)) else "on-host"
    except Exception as error:
        return "piece-by-piece" if "make_array_from_single_device_arrays" in str(error) else None
    moves = [step.params["devices"] for step in steps if step.primitive.name == "device_put"]
    single = [place for places in moves for place in places if isinstance(place, jax.Device)]
    return "piece-by-piece" if len(single) > 1 else None


def failure_of(error: BaseException, path: Path) -> Failure:
    """Return an error as data: its type, the beginning of its message, and the lines of `path` that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    lines: list[CodeLine] = [(f.lineno, f.line or "") for f in frames if f.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append((error.lineno, (error.text or "").strip()))
    message, _, more = re.sub(r"\n\s*\n", "\n\n", str(error).strip()).partition("\n\n")
    names = _names_in(error, path)
    blank = isinstance(error, NotImplementedError) and bool(frames) and frames[-1].filename == str(path)
    traceback.clear_frames(error.__traceback__)  # lets go of what filled the memory
    kind = "exit" if isinstance(error, SystemExit) else "blank" if blank else "error"
    last = max((n for n, f in enumerate(frames) if f.filename == str(path)), default=len(frames))
    into = next((f.name for f in frames[last + 1 :]), "")  # what the answer's own code had called
    return Failure(type(error).__name__, message[:800], tuple(lines[-3:]), kind, into, more[:2000], names)


MOST_NAMES = 4


def _names_in(error: BaseException, path: Path) -> tuple[tuple[str, Value], ...]:
    """Return the values of the file's own names in the line that led to an error, except arguments."""
    last = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == str(path) and frame.f_code.co_name != "<module>":
            last = frame, line
    if last is None:
        return ()
    frame, line = last
    code = frame.f_code
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    values: dict[str, Value] = {}
    for name in re.findall(r"(?<![\w.'\"])[A-Za-z_]\w*(?![\w'\"(])", linecache.getline(str(path), line)):
        if name in frame.f_locals and name not in given and name not in values and len(values) < MOST_NAMES:
            with contextlib.suppress(BaseException):  # it may be anything, and is only shown
                if not callable(x := frame.f_locals[name]) and not isinstance(x, types.ModuleType):
                    values[name] = pack(x, data=False)
    return tuple(values.items())


class _Tee(io.TextIOBase):
    """A stream that keeps the beginning of a text and passes all of it on, so that endless printing is noticed."""

    def __init__(self, stream: Any, most: int = 64_000) -> None:
        self.stream, self.most, self.kept, self.size = stream, most, [], 0

    def write(self, text: str) -> int:
        self.stream.write(text)
        if self.size < self.most:
            self.kept.append(text)
            self.size += len(text)
        return len(text)

    def flush(self) -> None:
        self.stream.flush()

    def text(self) -> str:
        return "".join(self.kept)[: self.most]
