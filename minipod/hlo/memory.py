"""Count the bytes that one instruction of a compiled program reads from the chip's memory and writes to it.

If an array is only sliced, gathered from, or updated in place, only the part that is touched counts; an array in the
chip's fast memory (a layout with `S(…)`) does not count. An asynchronous copy or slice counts at its start.
"""

import re

from minipod.hlo import between_slices
from minipod.hlo.fusions import Fusion, combines
from minipod.hlo.kernels import computes_on_host, kernel
from minipod.hlo.ops import OPS, Collective
from minipod.hlo.products import shape_of
from minipod.hlo.text import Computation, Instruction, Program, size, split

# These name an array, or pass it on.
_FREE = (
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "while", "conditional", "call",
    "opt-barrier", "partition-id", "replica-id", "async",
)  # fmt: skip
# Custom calls that do nothing when the program runs.
_NOTHING = re.compile(r'custom_call_target="(AllocateBuffer|ConcatBitcast|AssumeGather|Sharding|SPMD|xla\.sdy\.)')
_SLICES = ("slice", "dynamic-slice", "gather")
_AT_THE_START = (*_SLICES, "copy", "fusion", "dynamic-update-slice")
_PARTS = ("-start", "-update", "-done")


def moved(program: Program, computation: Computation, line: Instruction) -> int:
    """Return the bytes that an instruction outside a fusion moves; 0 for a collective."""
    op, _, part = line.opcode.rpartition("-") if line.opcode.endswith(_PARTS) else (line.opcode, "", "")
    if op in _FREE or op in OPS or (part in ("done", "update") and op in _AT_THE_START) or between_slices.is_part(line):
        return 0
    shapes = [shape_of(computation, line, i) for i in range(len(line.operands))]
    if op == "copy" and part:  # (target, source, …)
        return sum(map(large, parts(line.shape)[:2]))
    result = parts(line.shape)[1] if part == "start" and op in _AT_THE_START else line.shape  # (operands, result, …)
    if op == "fusion":
        return _fused(Fusion(program, computation, line), shapes, result)
    if op in _SLICES:
        rows = size(result) if large(shapes[0]) else 0
        return rows + large(result) + (large(shapes[1]) if op == "gather" else 0)
    if op == "dynamic-update-slice":
        return large(shapes[1]) + (size(shapes[1]) if large(result) else 0)
    if op == "scatter":
        return _scattered(program, line, shapes)
    if op == "custom-call" and _NOTHING.search(line.rest):
        return 0
    if part != "done" and (this := kernel(line)):
        if this.moved:
            return this.moved
        if this.reads:
            return sum(n * large(shape) for n, shape in zip(this.reads, shapes, strict=True)) + large(line.shape)
    if part:
        return large(line.shape) if part == "done" else sum(map(large, shapes))
    return sum(map(large, shapes)) + large(line.shape)


def of_collective(c: Collective, computation: Computation, line: Instruction, fused: bool) -> int:
    """Count the bytes that a device reads and writes in its own memory for one run of a collective begun in `line`.

    fused: whether it is in a fusion, so that its result lies where the fusion's result does.
    """
    n = max(map(len, c.groups), default=1)
    read = c.bytes // n if c.op == "all-gather" else c.bytes
    written = c.bytes // n if c.op == "reduce-scatter" else c.bytes
    result = computation.root.shape if fused else line.shape
    if line.opcode.endswith("-start") and not fused and len(parts(result)) > 1:  # (operand, result, …)
        result = parts(result)[1]
    given = any(large(shape_of(computation, line, i)) for i in range(len(line.operands)))
    return read * given + written * (large(result) > 0)


def of_host(computation: Computation, line: Instruction) -> tuple[int, int]:
    """Return (bytes read, bytes written) of the host's memory (layout with `S(5)`) by an instruction outside a fusion.

    If the host computes, its operands are written to this memory and its results are read from it.
    """
    op, _, part = line.opcode.rpartition("-") if line.opcode.endswith(_PARTS) else (line.opcode, "", "")
    if op in _FREE or part in ("done", "update") or _NOTHING.search(line.rest):
        return 0, 0
    shapes = [shape_of(computation, line, i) for i in range(len(line.operands))]
    if op == "dynamic-update-slice":
        return 0, size(shapes[1]) * (_at_host(shapes[0]) and not _at_host(shapes[1]))
    several = parts(line.shape)
    result = several[0] if op == "copy" and part else several[1] if part and op in _AT_THE_START else line.shape
    at_host = [shape for shape in shapes if _at_host(shape)]
    if computes_on_host(line):
        back = several[1] if part else line.shape
        return 0 if _at_host(back) else size(back), sum(map(size, shapes)) - sum(map(size, at_host))
    if _at_host(result):
        return 0, 0 if at_host else size(result)
    return (size(result) if at_host else 0) if op in _SLICES else sum(map(size, at_host)), 0


def _at_host(shape: str) -> bool:
    return "S(5)" in shape


def large(shape: str) -> int:
    """Return the bytes of an array in the chip's large memory (0 if in any other), or the sum for a tuple."""
    return sum(size(part) for part in parts(shape) if not re.search(r"S\([1-9]\d*\)", part))


def parts(shape: str) -> list[str]:
    """Return the shapes of a tuple's elements; for an array, a list of its own shape."""
    shape = re.sub(r"/\*index=\d+\*/", "", shape).strip()
    return split(shape[1:-1]) if shape.startswith("(") else [shape]


def _scattered(program: Program, line: Instruction, shapes: list[str]) -> int:
    """Count a scatter of n arrays, indices and n arrays of updates: updated parts are written, and read if combined."""
    n = (len(shapes) - 1) // 2
    touched = sum(size(update) for target, update in zip(shapes[:n], shapes[n + 1 :], strict=False) if large(target))
    return sum(map(large, shapes[n:])) + touched * (2 if combines(program, line) else 1)


def _fused(fusion: Fusion, shapes: list[str], result: str) -> int:
    """Return the bytes that a fusion reads of its operands, and writes."""
    total = 0
    for line, i in fusion.parameters():
        if i < len(shapes) and (whole := large(shapes[i])):
            total += int(whole * fusion.read(line.name))
    for line, shape in zip(fusion.results, parts(result) if fusion.tuple else [result], strict=False):
        if whole := large(shape):
            total += int(whole * fusion.written(line))
    return total
