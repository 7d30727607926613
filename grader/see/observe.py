"""See what functions do, in a child: value, placement, what is printed, the traffic, or the error. All as JSON data."""

import contextlib
import io
import itertools
import re
import sys
import traceback
import types
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from grader.exercise.spec import Budget, Spec
from grader.judge.verdict import lost
from grader.see.values import pack
from minipod.cluster import coordinator_store

PATIENCE = 6.0  # seconds for the other processes after each case; a collective in a check gives up before
_turns = itertools.count()


def load(path: Path, source: str | None = None) -> types.ModuleType:
    """Run a Python file as a module of its own; `source` replaces its text."""
    module = types.ModuleType("_".join((path.parent.name, path.stem)))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look their module up
    text = path.read_text(encoding="utf-8") if source is None else source
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def observe_file(spec: Spec, seed: int, path: Path, names: list[str], source: str | None = None, oracle: bool = False):
    """Load `path` and see its functions `names`: one observation each, or {"load": error} when it cannot be run."""
    import jax

    jax.config.update("jax_traceback_filtering", "off")  # a blank is told by its last frame
    spec, drawn = draw(spec, seed)  # before the file can change anything
    truths = [partial(_truth, spec.oracle, args) for args in drawn if oracle]
    expected = [_guarded(truth, path) for truth in truths]
    try:
        module = load(path, source)
    except BaseException as error:
        return {"load": _error(error, path)}
    seen = {"oracle": expected, "functions": {}}
    for name in names:
        if (function := getattr(module, name, None)) is None:
            seen["functions"][name] = None
        else:
            seen["functions"][name] = _cases(function, drawn, spec, path)
            if name != names[-1]:
                spec, drawn = draw(spec, seed)  # arguments may have been changed or donated
    return seen


def _cases(function: Callable[..., Any], drawn: list[tuple[Any, ...]], spec: Spec, path: Path) -> list[dict[str, Any]]:
    """What a function does in each case. In a cluster all processes go from case to case together: what one leaves
    undone must not meet what another does next. After a wait in vain the other cases are not tried."""
    seen: list[dict[str, Any]] = []
    fine = True
    for args in drawn:
        if fine:
            seen.append(observe(function, args, spec, path))
            fine = spec.processes == 1 or _all_fine(not lost(seen[-1]))
        else:
            error = {"type": "TimeoutError", "text": "Timed out before", "own": [], "kind": "error", "into": ""}
            seen.append({"args": [pack(a, data=False) for a in args], "budget": None, "printed": "", "error": error})
    return seen


def _all_fine(mine: bool) -> bool:
    """Whether every process of the cluster has come here and is fine."""
    import jax

    turn = next(_turns)
    try:
        coordinator_store.put(f"lessons/case/{turn}/{jax.process_index()}", "fine" if mine else "lost")
        others = range(jax.process_count())
        return all(coordinator_store.get(f"lessons/case/{turn}/{i}", PATIENCE) == "fine" for i in others) and mine
    except Exception:  # no process, or no coordinator, any more
        return False


def _truth(oracle: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    return {"value": pack(oracle(*args))}


def draw(spec: Spec, seed: int) -> tuple[Spec, list[tuple[Any, ...]]]:
    """The argument tuples of an exercise, the same in every process that has the seed, and the spec they belong to."""
    import numpy as np

    spec = spec.again() if spec.again else spec
    rng = np.random.default_rng([seed, zlib.crc32(spec.exercise.encode())])
    return spec, [tuple(args) for args in spec.cases(rng)]


def observe(function: Callable[..., Any], args: tuple[Any, ...], spec: Spec, path: Path) -> dict[str, Any]:
    """One case: {"args", "value" or "error", "printed", "traffic", "budget", "host"}."""
    seen: dict[str, Any] = {"args": [pack(a, data=False) for a in args], "budget": _budget(spec, args)}
    tee = _Tee(sys.stdout)
    with contextlib.redirect_stdout(tee):
        run = _compiled if spec.how == "jit" else _called
        seen |= _guarded(lambda: run(function, args, seen), path)
    seen["printed"] = tee.text()
    if spec.on_device and "value" in seen:
        seen["host"] = _left_devices(function, args)
    return seen


def _called(function: Callable[..., Any], args: tuple[Any, ...], _: dict[str, Any]) -> dict[str, Any]:
    import jax

    packed = pack(function(*args))
    jax.effects_barrier()  # jax.debug.print comes late
    return {"value": packed}


def _compiled(function: Callable[..., Any], args: tuple[Any, ...], seen: dict[str, Any]) -> dict[str, Any]:
    """Compile once, read that executable's traffic, run that same executable."""
    import jax

    program, arrays = _program(function, args)
    compiled = jax.jit(program).lower(*arrays).compile()
    mesh = next((a for a in args if isinstance(a, jax.sharding.Mesh)), None)
    along = (seen["budget"] or {}).get("along", ())
    seen |= _traffic(compiled.as_text() or "", mesh if along else None, along)
    packed = pack(compiled(*arrays))
    jax.effects_barrier()
    return {"value": packed}


def _program(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Callable[..., Any], list[Any]]:
    """The function as one of its arrays only, which can be traced, and these arrays."""
    import jax
    import numpy as np

    def is_data(arg: Any) -> bool:
        leaves = [] if isinstance(arg, Iterator) else jax.tree.leaves(arg)
        return bool(leaves) and all(isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves)

    places = [i for i, arg in enumerate(args) if is_data(arg)]

    def program(*arrays: Any) -> Any:
        full = list(args)
        for i, array in zip(places, arrays, strict=True):
            full[i] = array
        return function(*full)

    return program, [args[i] for i in places]


def _left_devices(function: Callable[..., Any], args: tuple[Any, ...]) -> str | None:
    """How a function that was called leaves the devices on the way, as a key of messages.toml; None if it does not.

    "on-host": it cannot be traced, because it needs numbers on the host · "piece-by-piece": it moves pieces to single
    devices one by one. What cannot be traced for another reason is judged by its value alone.
    """
    import jax

    program, arrays = _program(function, args)
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


def _traffic(text: str, mesh: Any = None, axes: Iterable[str] = ()) -> dict[str, Any]:
    from minipod import traffic

    try:
        found = traffic.read(text, mesh)
        known = all(c.times is not None for c in found)
        bill = [[c.op, c.bytes, c.times] for c in found]
        total = traffic.total(found) if known else None
        crossing = {axis: [c for c in found if c.axes is None or axis in c.axes] for axis in axes}
        along = {axis: traffic.total(part) if known else None for axis, part in crossing.items()}
        return {"traffic": bill, "total": total, "along": along}
    except ValueError as error:
        return {"unreadable": str(error)[:300]}


def _budget(spec: Spec, args: tuple[Any, ...]) -> Any:
    budget = spec.budget if isinstance(spec.budget, Budget) or spec.budget is None else spec.budget(*args)
    if budget is None:
        return None
    return {"ops": sorted(budget.ops), "bytes": budget.bytes, "single": budget.single, "along": dict(budget.along)}


def _guarded(do: Callable[[], dict[str, Any]], path: Path) -> dict[str, Any]:
    try:
        return do()
    except BaseException as error:  # SystemExit, too: it is the answer's doing
        return {"error": _error(error, path)}


def _error(error: BaseException, path: Path) -> dict[str, Any]:
    """An error as data: its type, first words, and the lines of `path` that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [[f.lineno, f.line or ""] for f in frames if f.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        own.append([error.lineno, (error.text or "").strip()])
    words = re.sub(r"\n\s*\n.*", "", str(error).strip(), flags=re.S)[:800]
    blank = isinstance(error, NotImplementedError) and bool(frames) and frames[-1].filename == str(path)
    traceback.clear_frames(error.__traceback__)  # lets go of what filled the memory
    kind = "exit" if isinstance(error, SystemExit) else "blank" if blank else "error"
    last = max((n for n, f in enumerate(frames) if f.filename == str(path)), default=len(frames))
    into = next((f.name for f in frames[last + 1 :]), "")  # what the answer's own code had called
    return {"type": type(error).__name__, "text": words, "own": own[-3:], "kind": kind, "into": into}


class _Tee(io.TextIOBase):
    """Passes text on, so that endless printing is noticed, and keeps the first of it."""

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
