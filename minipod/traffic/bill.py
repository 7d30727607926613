"""List the collectives of a compiled program and the bytes that a device sends for them.

    collectives = minipod.traffic.of(f, x)      # or read(compiled.as_text(), mesh)
    minipod.traffic.table(collectives)          # a table for a page or a terminal
    minipod.traffic.total(collectives)          # bytes that a device sends, to compare with a budget
    minipod.traffic.sent("all-reduce", 4, 8)    # the same for one collective that is not compiled: 7
    minipod.traffic.seconds(collectives, "TPU v5e", mesh)  # estimated time

The bytes are those of the program as compiled, and a table says for which kind of machine, since the CPU compiler turns
bf16 into f32 and the TPU compiler gathers f32 as bf16. Bytes that a Pallas kernel or another custom call sends are not
included.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any, TypeVar

from minipod.hlo import between_slices, text
from minipod.hlo.collectives import collectives
from minipod.hlo.compiled import compiled
from minipod.hlo.kernels import HOST, kernel, with_side_effects
from minipod.hlo.ops import OPS, Branch, Collective, plain_number, ring_bytes
from minipod.ranges import counted
from minipod.tables import Table

__all__ = ["Bill", "Collective", "Table", "of", "read", "sent", "table", "total"]

COLUMNS = ("collective", "axes", "bytes", "times", "sent")
EMPTY = "no collective: nothing is sent"
SUM = "each device sends"
Cost = TypeVar("Cost", Fraction, float)
UNKNOWN = "?"  # in a loop that runs an unknown number of times
_TILED = re.compile(r"\{[\d,]*:T\(")  # the layout f32[64,128]{1,0:T(8,128)}: only TPUs have tiles


class Bill(list[Collective]):
    """The collectives of one program: a list.

    compiled_for: the kind of machine for which the program was compiled, "CPU", "TPU" or "GPU"; empty if that is not
    known, and for slices of this list. A different compiler's program may send different bytes for the same function.
    kernels: whether the program calls custom kernels, which may send bytes that are not counted.
    calls: names of the custom calls with side effects, such as those of an MPI library, which may do so, too.
    devices: number of devices that run the program. axes: names of the mesh's axes; None without a mesh.
    """

    compiled_for: str = ""
    kernels: bool = False
    calls: tuple[str, ...] = ()
    devices: int = 1
    axes: tuple[str, ...] | None = None


def read(hlo_text: str, mesh: Any = None) -> Bill:
    """Read the collectives in the text of a compiled program, `compiled.as_text()`, in the order of the text.

    mesh: a `Mesh` or `AbstractMesh`, to name the axes of each collective; the devices of a `Mesh` also say for which
    kind of machine the program was compiled, unless the text shows that it is a TPU's.
    A computation that is called twice counts twice. Collectives that move nothing, such as a sum along an axis of size
    1, are left out. Raises TypeError if `hlo_text` is not a string; ValueError, quoting the line, for a
    collective that cannot be read, and if the mesh has a different number of devices.
    """
    if not isinstance(hlo_text, str):
        advice = ": give its .as_text()" if hasattr(hlo_text, "as_text") else ""
        raise TypeError(f"expected the text of a compiled program, got {type(hlo_text).__name__}{advice}")
    program = text.parse(hlo_text)
    shape = None if mesh is None else dict(mesh.shape)
    devices = program.replicas * program.partitions
    order = between_slices.numbers(mesh)  # of several slices, the program is that of one
    size = 0 if shape is None else prod(shape.values())
    if shape is not None and order is None and devices not in (1, size):
        raise ValueError(
            f"the mesh {shape} has {counted(size, 'device')}, but the program was compiled for {devices}: "
            "give the mesh on which its arrays lie"
        )
    bill = Bill(collectives(program, shape, numbers=order))
    bill.compiled_for = "TPU" if _TILED.search(hlo_text) else _kind(mesh)
    lines = [line for computation in program.computations.values() for line in computation.values()]
    bill.kernels = any((this := kernel(line)) is not None and this.name != HOST for line in lines)
    bill.calls = tuple(sorted({called for line in lines if (called := with_side_effects(line))}))
    bill.devices, bill.axes = devices, None if shape is None else tuple(shape)
    return bill


def of(function: Callable[..., Any], *args: Any, mesh: Any = None) -> Bill:
    """List the collectives of `function`, compiled for `args` but not run.

    function: jitted or not, or a compiled program, without args. args: arrays, NumPy arrays or ShapeDtypeStructs. mesh:
    if not given, the mesh of the first argument with a NamedSharding, or else of the compiled program's inputs or
    outputs. Raises TypeError for a compiled program with args, ValueError for an AbstractMesh, otherwise the errors of
    JAX and of `read`.
    """
    import jax

    try:
        ready = compiled(function, args)
    except jax.errors.JaxRuntimeError as error:
        if "GlobalToLocalShape" not in str(error):
            raise
        raise ValueError(
            "an AbstractMesh has no devices to compile for: call minipod.devices.simulate(n) and give a Mesh"
        ) from None
    placed = jax.tree.leaves((ready.input_shardings, ready.output_shardings))
    if mesh is None:
        shardings = [getattr(leaf, "sharding", None) for leaf in jax.tree.leaves(args)] + placed
        named = (s.mesh for s in shardings if isinstance(s, jax.sharding.NamedSharding))
        mesh = next((m for m in named if m.axis_names), None)
    bill = read(ready.as_text(), mesh)
    bill.compiled_for = next((_kind(sharding) for sharding in placed), bill.compiled_for)
    return bill


def _kind(placed: Any) -> str:
    """Return the kind of a mesh's or sharding's devices: CPU, TPU or GPU; empty for an AbstractMesh, which has none."""
    import jax

    if isinstance(placed, jax.sharding.Sharding):
        return next(iter(placed.device_set)).platform.upper()
    return next(iter(placed.devices.flat)).platform.upper() if isinstance(placed, jax.sharding.Mesh) else ""


def total(collectives: Sequence[Collective]) -> int | float:
    """Return the bytes that a device sends: the sum of `sent`, with the costliest branch of each conditional.

    The sum is exact: an int if it is a whole number, otherwise a float. Raises ValueError if the `times` of a
    collective are unknown.
    """
    costs = [(c.branch, c.sent_exactly(times_of(c, "the bytes cannot be added up"))) for c in collectives]
    return plain_number(Fraction(costliest(costs)))


def sent(op: str, size: int, devices: int, times: int = 1) -> int | float:
    """Return the bytes that each of `devices` devices sends for a collective over an array of `size` bytes, in a ring.

    With n devices: 2(n-1)/n of the array for an all-reduce; (n-1)/n for an all-gather (`size`: of the result), a
    reduce-scatter (`size`: of the input) and an all-to-all; the whole array for a permute and a broadcast. An int if it
    is a whole number. Raises ValueError for an unknown operation, or fewer than one device.
    """
    if op not in OPS:
        raise ValueError(f"no collective is called {op!r}: choose from {', '.join(OPS)}")
    if devices < 1:
        raise ValueError(f"a collective needs at least 1 device, not {devices}")
    return plain_number(ring_bytes(op, size, devices, times))


def times_of(c: Collective, so: str) -> int:
    """Return how often a collective runs. If unknown, raises ValueError with a message that ends in `so`."""
    if c.times is None:
        raise ValueError(
            f"a loop around this {c.op} of {counted(c.bytes, 'byte')} runs an unknown number of times: {so}"
        )
    return c.times


def costliest(costs: Sequence[tuple[Branch, Cost]]) -> Cost | int:
    """Return the sum of the costs outside all branches, and of each conditional's costliest branch."""
    inside: dict[int, dict[int, list[tuple[Branch, Cost]]]] = {}
    for branch, price in costs:
        if branch:
            conditional, number = branch[0]
            inside.setdefault(conditional, {}).setdefault(number, []).append((branch[1:], price))
    always = sum(price for branch, price in costs if not branch)
    return always + sum(max(map(costliest, branches.values())) for branches in inside.values())


def merged(collectives: Sequence[Collective]) -> list[Collective]:
    """Merge equal collectives and add their times, so that a loop equals its unrolled form."""
    alike: dict[Collective, list[int | None]] = {}
    for c in collectives:
        alike.setdefault(replace(c, times=None), []).append(c.times)
    return [replace(c, times=None if None in n else sum(filter(None, n))) for c, n in alike.items()]


def table(collectives: Sequence[Collective]) -> Table:
    """Make a table with a row for each collective; equal ones share a row, and their times are added.

    The columns are: operation, with the number of its branch if it is in one; axes of the mesh, or groups if they are
    unknown; bytes of the array; times; bytes that a device sends in all these times. Below the rows are the sum of the
    last column, the kind of machine the program was compiled for, and what else may send, if a `Bill` knows it.
    """
    kind = getattr(collectives, "compiled_for", "")
    uncounted = ["kernels"] * getattr(collectives, "kernels", False) + [*getattr(collectives, "calls", ())]
    parts = [f"compiled for {kind}"] * bool(kind) + [f"not counting {', '.join(uncounted)}"] * bool(uncounted)
    whose = f" ({', '.join(parts)})" if parts else ""
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
