"""Find, in the traced program, a collective in a branch that not all devices take, before it waits forever.

The axes along which a value differs from device to device are found as in shard_map's own check, from the blocks that
shard_map hands out and from `axis_index`; but this also works if `check_vma=False` has turned that check off.
"""

import linecache
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from grader.see.compiled import of_arrays
from grader.see.observation import CodeLine, Failure

Axes = frozenset[str]
NOWHERE: Axes = frozenset()
SAME_AFTER = {"psum", "psum_invariant", "pmax", "pmin", "all_gather", "all_gather_invariant"}  # along their axes
COLLECTIVES = SAME_AFTER | {"ppermute", "all_to_all", "reduce_scatter", "psum_scatter", "ragged_all_to_all"}
BRANCHES = re.compile(r"\b(cond|switch|while_loop|fori_loop)\b")  # without these words there is none


@dataclass(frozen=True)
class Alone:
    """An operation that not all devices reach, and the "cond" or "while" that contains it."""

    step: Any
    inside: str


def failure(function: Callable[..., Any], args: tuple[Any, ...], path: str) -> Failure | None:
    """Return the operation that would never end, with the line of the file `path` that calls it; or None."""
    import jax

    program, arrays = of_arrays(function, args)
    try:
        jaxpr = jax.make_jaxpr(program)(*arrays).jaxpr
    except Exception:  # it will be said when it is run
        return None
    first = next(_walk(jaxpr, [NOWHERE] * len(jaxpr.invars), NOWHERE, "")[0], None)
    if first is None:
        return None
    return Failure("CollectiveInBranch", _called(first.step), _lines(first.step, path), "branch", first.inside)


def _called(step: Any) -> str:
    return str(step.primitive.name).removesuffix("_invariant")


def _lines(step: Any, path: str) -> tuple[CodeLine, ...]:
    """Return the innermost line of the file that led to an operation."""
    traceback = step.source_info.traceback
    frames = [f for f in traceback.frames if f.file_name == path] if traceback else []
    return tuple((f.line_num, linecache.getline(path, f.line_num).strip()) for f in frames[:1])


def _walk(jaxpr: Any, given: Sequence[Axes], alone: Axes, inside: str) -> tuple[Iterator[Alone], list[Axes]]:
    """Find the operations in a traced program that not all devices reach, and the axes along which its results differ.

    given  the axes along which its arguments differ · alone: those along which devices have parted before, and in what
    """
    known = dict(zip(jaxpr.invars, given, strict=True))
    found: list[Alone] = []

    def axes(v: Any) -> Axes:
        return NOWHERE if hasattr(v, "val") else known.get(v, NOWHERE)  # what is no variable is a number

    for step in jaxpr.eqns:
        ins = [axes(v) for v in step.invars]
        if step.primitive.name in COLLECTIVES and _along(step) & alone:
            found.append(Alone(step, inside))
        more, outs = _step(step, ins, alone, inside)
        found += more
        known |= zip(step.outvars, outs, strict=True)
    return iter(found), [axes(v) for v in jaxpr.outvars]


def _step(step: Any, ins: list[Axes], alone: Axes, inside: str) -> tuple[Iterable[Alone], list[Axes]]:
    """Do the same for one operation. Only one iteration of a scan is examined, so nothing uncertain is reported."""
    name, several = step.primitive.name, len(step.outvars)
    if name == "axis_index":
        return (), [_along(step)]
    if name in COLLECTIVES:
        parted_over = _along(step)
        return (), [axes - parted_over if name in SAME_AFTER else axes | parted_over for axes in _as_many(ins, several)]
    if name == "shard_map":
        blocks = [_names(spec) for spec in step.params["in_specs"]]
        return _walk(step.params["jaxpr"], blocks, NOWHERE, "")[0], [NOWHERE] * several
    if name == "cond":
        parted = ins[0]
        each = [_walk(b.jaxpr, ins[1:], alone | parted, "cond") for b in step.params["branches"]]
        outs = [parted.union(*ways) for ways in zip(*(outs for _, outs in each), strict=True)]
        return [one for found, _ in each for one in found], outs
    if name == "while":
        return _while(step, ins, alone, inside)
    inner = next((p for p in map(_program, step.params.values()) if p and len(p.invars) == len(ins)), None)
    if inner is not None and len(inner.outvars) == several:
        return _walk(inner, ins, alone, inside)
    return (), [NOWHERE.union(*ins)] * several


def _while(step: Any, ins: list[Axes], alone: Axes, inside: str) -> tuple[Iterable[Alone], list[Axes]]:
    """Walk a loop until no more values differ: it separates devices if its condition differs between them."""
    p = step.params
    first, second = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
    asked, fixed, carried = ins[:first], ins[first:second], ins[second:]
    while True:
        (parted,) = _walk(p["cond_jaxpr"].jaxpr, [*asked, *carried], NOWHERE, "")[1]
        within = "while" if parted else inside
        alone_in, outs = _walk(p["body_jaxpr"].jaxpr, [*fixed, *carried], alone | parted, within)
        following = [a | b | parted for a, b in zip(carried, outs, strict=True)]
        if following == carried:
            return alone_in, following
        carried = following


def _as_many(ins: list[Axes], several: int) -> list[Axes]:
    return ins if len(ins) == several else [NOWHERE.union(*ins)] * several


def _program(parameter: Any) -> Any:
    """Return a parameter that is a traced program, or None."""
    inner = getattr(parameter, "jaxpr", parameter)
    return inner if hasattr(inner, "eqns") else None


def _along(step: Any) -> Axes:
    """Return the mesh axes of a collective, or of `axis_index`."""
    return _names([step.params.get("axes", step.params.get("axis_name", ()))])


def _names(spec: Iterable[Any]) -> Axes:
    """Return the names in a PartitionSpec, or in a parameter."""
    entries = [entry if isinstance(entry, tuple | list) else (entry,) for entry in spec]
    return frozenset(name for entry in entries for name in entry if isinstance(name, str))
