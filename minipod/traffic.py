"""What the devices of a compiled program send each other: its collectives, read from the program itself.

    collectives = minipod.traffic.of(f, x)      # or read(compiled.as_text(), mesh)
    minipod.traffic.table(collectives)          # a table on a page or in a terminal
    minipod.traffic.total(collectives)          # bytes × times, for a budget

Bytes are those of the program as it was compiled: the CPU compiler turns bf16 into f32 and says so. What a Pallas
kernel or another custom call sends by itself cannot be seen.
"""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from minipod.hlo import text
from minipod.hlo.collectives import Branch, Collective, collectives

__all__ = ["Collective", "Table", "of", "read", "table", "total"]

COLUMNS = ("collective", "axes", "bytes", "times", "sent")
EMPTY = "no collective: nothing is sent"
SUM = "bytes × times"
UNKNOWN = "?"  # in a loop that runs an unknown number of times


def read(hlo_text: str, mesh: Any = None) -> list[Collective]:
    """The collectives of a compiled program's text, `compiled.as_text()`, in the order in which they are written.

    `mesh` (a `Mesh` or `AbstractMesh`) only gives `axes`. A computation that is called twice counts twice; a
    collective in which nothing moves, such as a sum along an axis of size 1, does not count.
    ValueError, quoting the line, for anything that looks like a collective and is not understood.
    """
    program = text.parse(hlo_text)
    shape = None if mesh is None else dict(mesh.shape)
    devices = program.replicas * program.partitions
    if shape is not None and devices not in (1, prod(shape.values())):
        raise ValueError(
            f"the mesh {shape} has {prod(shape.values())} devices, the program was compiled for {devices}: "
            "give the mesh on which its arrays lie"
        )
    return collectives(program, shape)


def of(function: Callable[..., Any], *args: Any, mesh: Any = None) -> list[Collective]:
    """The collectives of `function`, compiled for `args` (arrays, NumPy arrays or ShapeDtypeStructs) but not run.

    `function` may be jitted already. Without `mesh`, the mesh of the first argument that has a NamedSharding is
    taken, else one that the compiled program's inputs or outputs have.
    """
    import jax

    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
    compiled = jitted.lower(*args).compile()
    if mesh is None:
        shardings = [getattr(leaf, "sharding", None) for leaf in jax.tree.leaves(args)]
        shardings += jax.tree.leaves((compiled.input_shardings, compiled.output_shardings))
        named = (s.mesh for s in shardings if isinstance(s, jax.sharding.NamedSharding))
        mesh = next((m for m in named if m.axis_names), None)
    return read(compiled.as_text(), mesh)


def total(collectives: Sequence[Collective]) -> int:
    """The sum of bytes × times, per device; of a conditional's branches, the costliest counts.

    ValueError if one of the `times` is unknown: a budget over it cannot be checked.
    """
    for c in collectives:
        if c.times is None:
            raise ValueError(
                f"a loop around this {c.op} of {c.bytes:,} bytes runs an unknown number of times: "
                "a budget over it cannot be checked"
            )
    return _costliest([(c.branch, c.bytes * (c.times or 0)) for c in collectives])


def _costliest(costs: list[tuple[Branch, int]]) -> int:
    """The costs outside every branch, and for each conditional those of its costliest branch."""
    inside: dict[int, dict[int, list[tuple[Branch, int]]]] = {}
    for branch, cost in costs:
        if branch:
            conditional, number = branch[0]
            inside.setdefault(conditional, {}).setdefault(number, []).append((branch[1:], cost))
    always = sum(cost for branch, cost in costs if not branch)
    return always + sum(max(map(_costliest, branches.values())) for branches in inside.values())


@dataclass(frozen=True)
class Table:
    """Rows of text under `COLUMNS`, and below them the sum of bytes × times (`?` when it is unknown)."""

    rows: tuple[tuple[str, ...], ...]
    total: str

    def __str__(self) -> str:
        if not self.rows:
            return EMPTY
        lines = [COLUMNS, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
        # Words to the left, numbers to the right.
        layout = "  ".join(f"{{:{'<' if i < 2 else '>'}{width}}}" for i, width in enumerate(widths))
        return "\n".join([*(layout.format(*line).rstrip() for line in lines), f"{SUM}: {self.total}"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.rows:
            return f'<p class="minipod traffic">{EMPTY}</p>'
        head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
        body = "".join(f"<tr>{''.join(map(_cell, range(len(row)), row))}</tr>" for row in self.rows)
        foot = f'<tr><th scope="row" colspan="2">{SUM}</th>{_cell(2, self.total)}<td colspan="2"></td></tr>'
        return (
            f'<table class="minipod traffic"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody><tfoot>{foot}</tfoot></table>"
        )


def _cell(column: int, content: str) -> str:
    right = ' style="text-align: right"' if column > 1 else ""
    return f"<td{right}>{html.escape(content)}</td>"


def table(collectives: Sequence[Collective]) -> Table:
    """One row per collective; equal ones share a row, and their times add up, so a loop and its unrolled form agree.

    Without axes the column shows the groups. A row in a branch says so: «all-reduce (branch 1)».
    """
    alike: dict[Collective, list[int | None]] = {}
    for c in collectives:
        alike.setdefault(replace(c, times=None), []).append(c.times)
    rows = []
    for c, times in alike.items():
        c = replace(c, times=None if None in times else sum(n or 0 for n in times))
        branch = f" (branch {'/'.join(str(number) for _, number in c.branch)})" if c.branch else ""
        rows.append((c.op + branch, _axes(c), _number(c.bytes), _number(c.times), _number(c.sent)))
    unknown = any(c.times is None for c in collectives)
    return Table(tuple(rows), _number(None if unknown else total(collectives)))


def _axes(c: Collective) -> str:
    if c.axes is not None:
        return ", ".join(c.axes) or "–"
    short = [(*g[:3], "…", g[-1]) if len(g) > 8 else g for g in c.groups[:2]]
    return " ".join(f"{{{','.join(map(str, g))}}}" for g in short) + " …" * (len(c.groups) > 2)


def _number(n: int | float | None) -> str:
    return UNKNOWN if n is None else f"{n:,.1f}" if isinstance(n, float) else f"{n:,}"
