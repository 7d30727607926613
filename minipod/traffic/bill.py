"""What the devices of a compiled program send each other: its collectives, read from the program itself.

    collectives = minipod.traffic.of(f, x)      # or read(compiled.as_text(), mesh)
    minipod.traffic.table(collectives)          # a table on a page or in a terminal
    minipod.traffic.total(collectives)          # the bytes that a device sends for them, for a budget
    minipod.traffic.sent("all-reduce", 4, 8)    # and for one that is not compiled: 7
    minipod.traffic.seconds(collectives, "TPU v5e", mesh)  # the time, estimated

Bytes are those of the program as it was compiled, and a table says for what: the CPU compiler turns bf16 into f32, the
TPU's gathers f32 as bf16. What a Pallas kernel or another custom call sends by itself cannot be seen.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any, TypeVar

from minipod.hlo import ring, text
from minipod.hlo.collectives import collectives
from minipod.hlo.ops import OPS, Branch, Collective
from minipod.tables import Table
from minipod.torus import torus_of
from minipod.traffic import time_model
from minipod.traffic.interconnects import Link, link

__all__ = ["Bill", "Collective", "Table", "of", "read", "seconds", "sent", "table", "total"]

COLUMNS = ("collective", "axes", "bytes", "times", "sent")
EMPTY = "no collective: nothing is sent"
SUM = "each device sends"
Cost = TypeVar("Cost", Fraction, float)
UNKNOWN = "?"  # in a loop that runs an unknown number of times
_TILED = re.compile(r"\{[\d,]*:T\(")  # the layout f32[64,128]{1,0:T(8,128)}: only TPUs have tiles


class Bill(list[Collective]):
    """The collectives of one program, a list like any other.

    compiled_for: the kind of machine that the program was compiled for, "CPU", "TPU" or "GPU"; empty where that is not
    known, and in a list made from this one. Another compiler may send other bytes for the same function.
    """

    compiled_for: str = ""


def read(hlo_text: str, mesh: Any = None) -> Bill:
    """The collectives of a compiled program's text, `compiled.as_text()`, in the order in which they are written.

    `mesh` (a `Mesh` or `AbstractMesh`) gives `axes`, and the devices of a `Mesh` are those compiled for, unless the
    text is a TPU's, which shows. A computation that is called twice counts twice; a collective in which nothing moves,
    such as a sum along an axis of size 1, does not count.
    ValueError, quoting the line, for anything that looks like a collective and is not understood.
    """
    if not isinstance(hlo_text, str):
        raise TypeError(f"expected the text of a compiled program, got {type(hlo_text).__name__}: give its .as_text()")
    program = text.parse(hlo_text)
    shape = None if mesh is None else dict(mesh.shape)
    devices = program.replicas * program.partitions
    if shape is not None and devices not in (1, prod(shape.values())):
        raise ValueError(
            f"the mesh {shape} has {prod(shape.values())} devices, the program was compiled for {devices}: "
            "give the mesh on which its arrays lie"
        )
    bill = Bill(collectives(program, shape))
    bill.compiled_for = "TPU" if _TILED.search(hlo_text) else _kind(mesh)
    return bill


def of(function: Callable[..., Any], *args: Any, mesh: Any = None) -> Bill:
    """The collectives of `function`, compiled for `args` (arrays, NumPy arrays or ShapeDtypeStructs) but not run.

    `function` may be jitted already. Without `mesh`, the mesh of the first argument that has a NamedSharding is
    taken, else one that the compiled program's inputs or outputs have.
    """
    import jax

    if isinstance(function, jax.stages.Compiled):
        raise TypeError("this is compiled already: give minipod.traffic.read its .as_text()")
    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
    try:
        compiled = jitted.lower(*args).compile()
    except jax.errors.JaxRuntimeError as error:
        if "GlobalToLocalShape" not in str(error):
            raise
        raise ValueError(
            "an AbstractMesh has no devices to compile for: give a Mesh, after minipod.devices.simulate(devices)"
        ) from None
    placed = jax.tree.leaves((compiled.input_shardings, compiled.output_shardings))
    if mesh is None:
        shardings = [getattr(leaf, "sharding", None) for leaf in jax.tree.leaves(args)] + placed
        named = (s.mesh for s in shardings if isinstance(s, jax.sharding.NamedSharding))
        mesh = next((m for m in named if m.axis_names), None)
    bill = read(compiled.as_text(), mesh)
    bill.compiled_for = next((_kind(sharding) for sharding in placed), bill.compiled_for)
    return bill


def _kind(placed: Any) -> str:
    """What the devices of a mesh or sharding are: CPU, TPU or GPU; empty for an AbstractMesh, which has none."""
    import jax

    if isinstance(placed, jax.sharding.Sharding):
        return next(iter(placed.device_set)).platform.upper()
    return next(iter(placed.devices.flat)).platform.upper() if isinstance(placed, jax.sharding.Mesh) else ""


def total(collectives: Sequence[Collective]) -> int | float:
    """The bytes that a device sends: the sum of `sent`; of a conditional's branches, the costliest counts.

    An int where it is whole; the sum is exact, and only the result is rounded to a float.
    ValueError if one of the `times` is unknown: a budget over it cannot be checked.
    """
    costs = [
        (c.branch, c.sent_exactly(_times(c, "there is no sum, and a budget over it cannot be checked")))
        for c in collectives
    ]
    return ring.plain(Fraction(costliest(costs)))


def sent(op: str, size: int, devices: int, times: int = 1) -> int | float:
    """Bytes that leave each of `devices` devices for a collective over an array of `size` bytes, by a ring.

    2(n-1)/n of the array for an all-reduce of n devices, (n-1)/n for an all-gather (`size` is what has been gathered),
    a reduce-scatter (what is there before) and an all-to-all, all of it for a permute and a broadcast. An int where it
    is whole. ValueError for another operation, or fewer than one device.
    """
    if op not in OPS or devices < 1:
        raise ValueError(f"a collective of {devices} devices called {op!r} is not known: {', '.join(OPS)}")
    return ring.plain(ring.exactly(op, size, devices, times))


def seconds(collectives: Sequence[Collective], on: Link | str, mesh: Any = None) -> float:
    """Estimated seconds of the collectives, one after the other, on an interconnect; `time_model.seconds` says how.

    `on` is a `Link`, or the name of one in `LINKS`; `mesh` (a `Mesh` or `AbstractMesh`) is needed for collectives over
    several axes, and for permutes to others than the next device. Where its devices are a TPU's, here or not
    (`minipod.pods.mesh`), their coordinates say on which axes of the torus it lies; else its axes are taken for those
    of the machine. Of a conditional's branches, the slowest counts.
    ValueError for an unknown name, a mesh that is not the program's, groups that are no box of the torus, or a loop of
    unknown length.
    """
    carrier = link(on) if isinstance(on, str) else on
    shape = None if mesh is None else dict(mesh.shape)
    devices = {device for c in collectives for group in c.groups for device in group}
    axes = {axis for c in collectives for axis in c.axes or ()}
    if shape is not None and (not axes <= set(shape) or max(devices, default=0) >= prod(shape.values())):
        raise ValueError(f"the mesh {shape} is not the one on which these collectives run: give that one")
    torus = torus_of(mesh, carrier.closes) if carrier.shape == "torus" else None
    costs = [
        (c.branch, time_model.seconds(c, carrier, shape, torus) * _times(c, "its time cannot be estimated"))
        for c in collectives
    ]
    return costliest(costs)


def _times(c: Collective, so: str) -> int:
    if c.times is None:
        raise ValueError(f"a loop around this {c.op} of {c.bytes:,} bytes runs an unknown number of times: {so}")
    return c.times


def costliest(costs: Sequence[tuple[Branch, Cost]]) -> Cost | int:
    """The costs outside every branch, and for each conditional those of its costliest branch."""
    inside: dict[int, dict[int, list[tuple[Branch, Cost]]]] = {}
    for branch, price in costs:
        if branch:
            conditional, number = branch[0]
            inside.setdefault(conditional, {}).setdefault(number, []).append((branch[1:], price))
    always = sum(price for branch, price in costs if not branch)
    return always + sum(max(map(costliest, branches.values())) for branches in inside.values())


def merged(collectives: Sequence[Collective]) -> list[Collective]:
    """Equal collectives once, where the first of them is, their times added: a loop and its unrolled form agree."""
    alike: dict[Collective, list[int | None]] = {}
    for c in collectives:
        alike.setdefault(replace(c, times=None), []).append(c.times)
    return [replace(c, times=None if None in n else sum(filter(None, n))) for c, n in alike.items()]


def table(collectives: Sequence[Collective]) -> Table:
    """One row per collective; equal ones share a row, and their times add up.

    bytes: the array worked on. sent: what a device sends for it, over all times; their sum stands below.
    Without axes the column shows the groups. A row in a branch says so: «all-reduce (branch 1)». Of a `Bill` that
    knows it, the table says what the program was compiled for.
    """
    whose = f" (compiled for {compiled_for})" if (compiled_for := getattr(collectives, "compiled_for", "")) else ""
    rows = []
    for c in merged(collectives):
        branch = f" (branch {'/'.join(str(number) for _, number in c.branch)})" if c.branch else ""
        rows.append((c.op + branch, _axes(c), _number(c.bytes), _number(c.times), _number(c.sent)))
    unknown = any(c.times is None for c in collectives)
    below = SUM + whose, _number(None if unknown else total(collectives))
    return Table(COLUMNS, tuple(rows), left=(0, 1), kind="traffic", empty=EMPTY + whose, sum=below)


def _axes(c: Collective) -> str:
    if c.axes is not None:
        return ", ".join(c.axes) or "–"
    short = [(*g[:3], "…", g[-1]) if len(g) > 8 else g for g in c.groups[:2]]
    return " ".join(f"{{{','.join(map(str, g))}}}" for g in short) + " …" * (len(c.groups) > 2)


def _number(n: int | float | None) -> str:
    return UNKNOWN if n is None else f"{n:,.1f}" if isinstance(n, float) else f"{n:,}"
