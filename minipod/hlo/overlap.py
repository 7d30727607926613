"""Find what a device computes between the start and the done of a collective in the compiler's schedule.

A scheduled program (`is_scheduled=true`, as on TPUs and GPUs) runs in the order of its text. On TPUs, a collective is
either a `…-start` and a `…-done`, or a fusion that starts it, others that continue it while they compute, and one that
ends it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from minipod.hlo.calls import base, called, callees_first
from minipod.hlo.collectives import part_of
from minipod.hlo.ops import OPS, begins
from minipod.hlo.products import products
from minipod.hlo.text import Computation, Instruction, Program, reading


@dataclass(frozen=True)
class Overlap:
    """One asynchronous collective in the text.

    op: its operation. name: its name in the text. products, flops: number and FLOPs of the matrix products and of the
    kernels with a stated cost, between its start and its done; each counts once, however often a loop runs it.
    """

    op: str
    name: str
    products: int
    flops: int


def overlaps(program: Program) -> list[Overlap]:
    """List all asynchronous collectives, in the order of their starts. Those that do not overlap have 0 products."""
    asynchronous, costs = [], {}
    for name in callees_first(program, program.entry):
        computation = program.computations[name]
        costs[name] = sum(_flops(program, computation, line, costs) for line in computation.values())
    for computation in (computation for name, computation in program.computations.items() if name in costs):
        lines = list(computation.values())
        for i, line in enumerate(lines):
            if op := _starts(program, computation, line):
                end = _end(program, computation, lines, i)
                between = [_flops(program, computation, line, costs) for line in lines[i + 1 : end]]
                between = [cost for cost in between if cost]
                asynchronous.append(Overlap(op, line.name, len(between), sum(between)))
    return asynchronous


def _starts(program: Program, computation: Computation, line: Instruction) -> str:
    """Return the operation that begins here and ends later, or ""."""
    if line.opcode.endswith("-start") and base(line.opcode) in OPS:
        return base(line.opcode)
    if line.opcode not in ("fusion", "fusion-start", "async-start", "call-start"):
        return ""
    later = line.opcode.endswith("-start")
    for inside in _inside(program, computation, line):
        if later or part_of(inside) == "start":
            if op := next((base(i.opcode) for i in inside.values() if begins(i)), ""):
                return op
    return ""


def _end(program: Program, computation: Computation, lines: list[Instruction], start: int) -> int:
    """Return the position of the end of the collective that starts at `start`: its `-done`, or a fusion."""
    first = lines[start]
    if first.opcode.endswith("-start"):
        handles = {first.name}
        for i in range(start + 1, len(lines)):
            if handles & set(lines[i].operand_names[:1]):
                if lines[i].opcode.endswith("-done"):
                    return i
                handles.add(lines[i].name)
        return start + 1
    opened = channels(program, computation, first)
    ends = (
        i
        for i in range(start + 1, len(lines))
        if lines[i].opcode == "fusion"
        and any(part_of(inside) == "done" for inside in _inside(program, computation, lines[i]))
        and channels(program, computation, lines[i]) & opened
    )
    return next(ends, start + 1)


def _inside(program: Program, computation: Computation, line: Instruction) -> list[Computation]:
    """Return the computations that an instruction calls."""
    return [program.computations[name] for names in called(program, computation, line).values() for name in names]


def channels(program: Program, computation: Computation, line: Instruction) -> set[str]:
    """Return the channels of the collectives in the computations that `line` calls."""
    lines = [i for inside in _inside(program, computation, line) for i in inside.values()]
    return {i.attributes["channel_id"] for i in lines if "channel_id" in i.attributes}


def _flops(program: Program, computation: Computation, line: Instruction, costs: Mapping[str, int]) -> int:
    """Return the FLOPs of products in an instruction and in what it calls (`costs`); of branches, the costliest."""
    with reading(line):
        total = products(computation, line)[1]
    if begins(line):
        return total
    calls = [costs[name] for names in called(program, computation, line).values() for name in names]
    return total + (max(calls, default=0) if base(line.opcode) == "conditional" else sum(calls))
