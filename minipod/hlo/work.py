"""How much a compiled program computes and moves: FLOPs of its matrix products, bytes to and from its memory.

`compiled.cost_analysis()` counts the body of a loop once, however often it runs; here it counts as often as it runs.

- FLOPs are those of dots, convolutions and library calls for them, a multiplication and an addition each: sums and
  elementwise work are left out, as they are where models are compared. By element type of what is multiplied.
- Bytes: every array that an instruction outside a fusion reads or writes, once; of one that is only sliced or updated
  in place, that part. What the compiler keeps in the chip's fast memory (a layout with `S(…)`) is not counted. So this
  is an estimate of the least that must move. What collectives read and write counts, too.
- Of a conditional's branches one runs, so the costliest counts: in FLOPs the one that multiplies most, in bytes the one
  that moves most.
- What a custom kernel does by itself is not seen.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from math import prod

from minipod.hlo import between_slices
from minipod.hlo.calls import base, called
from minipod.hlo.collectives import OPS, Collective, Place, Walker, begins, moves, part_of
from minipod.hlo.loops import Value
from minipod.hlo.text import Computation, Instruction, Program, quoted, reading, size, split

_SHAPE = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_GEMM = re.compile(r"gemm|matmul|dot", re.I)
# They name an array, or hand it on.
_FREE = (
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "while", "conditional", "call",
    "opt-barrier", "partition-id", "replica-id", "iota", "async",
)  # fmt: skip
_PARTS = ("-start", "-update", "-done")


@dataclass(frozen=True)
class Work:
    """Of one device, over the whole program.

    flops: element type → FLOPs; float32 products for which more than the default precision was asked are "f32×3"
    (high) or "f32×6" (highest), the passes that a TPU makes of one. moved: bytes to or from memory.
    """

    flops: dict[str, int]
    moved: int


def work(program: Program) -> Work:
    """ValueError, quoting the line, for a loop that runs an unknown number of times, and for what is not understood."""
    return _Counting(program).once(program.entry, Place())


class _Counting:
    """What computations of a program do, each counted once: a program may call one of them in many places."""

    def __init__(self, program: Program):
        self.program, self.walker = program, Walker(program, None)
        self.known: dict[tuple[str, Place, tuple[Value, ...]], Work] = {}

    def once(self, name: str, place: Place, given: tuple[Value, ...] = ()) -> Work:
        """Of one run of the computation `name`, called with the arguments `given`, and of all that it calls."""
        key = name, replace(place, times=1, branch=()), given
        if key not in self.known:
            self.known[key] = self._once(*key)
        return self.known[key]

    def _once(self, name: str, place: Place, given: tuple[Value, ...]) -> Work:
        computation, here = self.program.computations[name], self.walker.values.of(name, given)
        place = replace(place, part=part_of(computation) or place.part)
        flops: Counter[str] = Counter()
        moved = 0
        for line in computation.values():
            with reading(line):
                kind, count = products(computation, line)
                flops[kind] += count
                moved += 0 if place.fused else _moved(self.program, computation, line)
            if begins(line):
                if self.walker.counts(line, place) and moves(c := self.walker.collective(line, computation, place)):
                    moved += _of_collective(c)
                continue
            inside: list[Work] = []
            for callee, there, handed in self.walker.calls(computation, line, place, here):
                if there.times is None:
                    raise quoted("this loop runs an unknown number of times, so its work is not known", line.line)
                one = self.once(callee, there, handed)
                inside.append(Work({kind: n * there.times for kind, n in one.flops.items()}, one.moved * there.times))
            if base(line.opcode) == "conditional" and inside:
                most = max(inside, key=lambda branch: sum(branch.flops.values()))
                inside = [Work(most.flops, max(branch.moved for branch in inside))]
            for one in inside:
                flops.update(one.flops)
                moved += one.moved
        return Work(dict(+flops), moved)


def dimensions(shape: str) -> tuple[str, tuple[int, ...]]:
    """`"bf16[2,8]{1,0}"`: "bf16", (2, 8). Of a tuple, its first array."""
    found = _SHAPE.search(shape)
    if not found:
        raise ValueError(f"{shape} is not the shape of an array")
    return found[1], tuple(map(int, split(found[2])))


def products(computation: Computation, line: Instruction) -> tuple[str, int]:
    """The type and the FLOPs of a matrix product; "", 0 for another instruction."""
    if line.opcode == "custom-call":
        return _library_call(computation, line)
    if line.opcode not in ("dot", "convolution"):
        return "", 0
    left, right = (dimensions(_shape(computation, line, i)) for i in (0, 1))
    _, out = dimensions(line.shape)
    kind = left[0]
    if kind == "f32" and (asked := re.search(r"operand_precision=\{(\w+),(\w+)\}", line.rest)):
        kind += {"high": "×3", "highest": "×6"}.get(asked[1], "")
    if line.opcode == "dot":
        contracted = split(line.attributes.get("lhs_contracting_dims", "{}")[1:-1])
        return kind, 2 * prod(out) * prod(left[1][int(i)] for i in contracted)
    return kind, _convolution(line, left[1], right[1], out)


def _convolution(line: Instruction, left: tuple[int, ...], right: tuple[int, ...], out: tuple[int, ...]) -> int:
    """A TPU's compiler writes every matrix product as one, batches as spatial dimensions with holes in them.

    Positions that fall on padding or on a hole cost nothing. Source: XLA's HloCostAnalysis::GetConvolutionFlops.
    """
    inputs, _, rest = line.attributes["dim_labels"].partition("_")
    kernel, _, outputs = rest.partition("->")
    window = dict(re.findall(r"(\w+)=([\dx_-]+)", line.attributes.get("window", "{}")))
    spatial = [c for c in outputs if c.isdecimal()]
    valid = 1
    for c in sorted(spatial, key=int):
        i = int(c)

        def of(name: str, default: int, i: int = i) -> int:
            return int(window[name].split("x")[i]) if name in window else default

        low = int(window["pad"].split("x")[i].partition("_")[0]) if "pad" in window else 0
        count, width = out[outputs.index(c)], left[inputs.index(c)]
        step, holes, spread = of("stride", 1), of("lhs_dilate", 1), of("rhs_dilate", 1)
        places = (o * step + k * spread - low for o in range(count) for k in range(right[kernel.index(c)]))
        valid *= sum(0 <= p <= (width - 1) * holes and p % holes == 0 for p in places)
    features = right[kernel.index("i")]  # of one group
    groups = int(line.attributes.get("batch_group_count", 1))
    return 2 * valid * features * out[outputs.index("f")] * out[outputs.index("b")] // groups


def _library_call(computation: Computation, line: Instruction) -> tuple[str, int]:
    """A matrix product that a library makes: cuBLAS, oneDNN."""
    target = line.attributes.get("custom_call_target", "")
    contracted = re.search(r'"lhs_contracting_dimensions":\[([^\]]*)\]', line.rest)
    if not _GEMM.search(target) or not contracted or not line.operands:
        return "", 0
    kind, left = dimensions(_shape(computation, line, 0))
    _, out = dimensions(line.shape)
    axes = [int(i.strip('" ')) for i in split(contracted[1])]
    return kind, 2 * prod(out) * prod(left[i] for i in axes)


def _shape(computation: Computation, line: Instruction, i: int) -> str:
    """Of operand `i`; older text has it before the name."""
    return line.operands[i].rpartition(" ")[0] or computation.operands(line)[i].shape


def _moved(program: Program, computation: Computation, line: Instruction) -> int:
    """Bytes that one instruction, which stands outside a fusion, reads and writes."""
    op, _, part = line.opcode.rpartition("-") if line.opcode.endswith(_PARTS) else (line.opcode, "", "")
    if op in _FREE or op in OPS or (op == "fusion" and part in ("done", "update")) or between_slices.is_part(line):
        return 0
    if op == "dynamic-update-slice":
        return 2 * _large(_shape(computation, line, 1))
    if op in ("dynamic-slice", "slice", "gather"):
        return 2 * _large(line.shape)
    shapes = [_shape(computation, line, i) for i in range(len(line.operands))]
    if op == "fusion":  # the start of one is of the shape (operands, result, …)
        inside = program.computations[called(program, computation, line)["calls"][0]]
        return _fused(inside, shapes, _parts(line.shape)[1] if part else line.shape)
    if part:
        return _large(line.shape) if part == "done" else sum(map(_large, shapes))
    return sum(map(_large, shapes)) + _large(line.shape)


def _fused(inside: Computation, shapes: list[str], result: str) -> int:
    """What a fusion reads of its operands, and writes."""
    users: dict[str, list[Instruction]] = {}
    for line in inside.values():
        for name in line.operand_names:
            users.setdefault(name, []).append(line)
    moved = 0
    for line in inside.values():
        if line.opcode == "parameter" and (i := int(line.operands[0])) < len(shapes) and _large(shapes[i]):
            moved += _read(line, users, _large(shapes[i]))
    root = inside.root
    results = [inside[name] for name in root.operand_names if name in inside] if root.opcode == "tuple" else [root]
    written = _parts(result)
    for line, shape in zip(results, written, strict=False):
        moved += _written(inside, line, shape)
    return moved


def _read(line: Instruction, users: dict[str, list[Instruction]], whole: int) -> int:
    """Bytes of a fusion's operand that are used: a slice, nothing of what is updated in place or handed on, or all."""
    read = 0
    for user in users.get(line.name, []):
        if user.opcode in ("dynamic-slice", "slice"):
            read += size(user.shape)
        elif user.opcode == "bitcast":
            read += _read(user, users, whole)
        elif user.opcode in ("tuple", "custom-call") or begins(user):
            pass
        elif user.opcode != "dynamic-update-slice" or user.operand_names[0] != line.name:
            return whole
    return min(read, whole)


def _written(inside: Computation, line: Instruction, shape: str) -> int:
    while line.opcode == "bitcast" and line.operand_names[0] in inside:
        line = inside[line.operand_names[0]]
    if line.opcode in ("parameter", "custom-call") or begins(line):
        return 0
    if line.opcode == "dynamic-update-slice":
        return min(size(inside[line.operand_names[1]].shape), _large(shape))
    return _large(shape)


def _large(shape: str) -> int:
    """Bytes of an array in the chip's large memory, 0 for one in its fast memory."""
    return sum(size(part) for part in _parts(shape) if not re.search(r"S\([1-9]\d*\)", part))


def _parts(shape: str) -> list[str]:
    shape = re.sub(r"/\*index=\d+\*/", "", shape).strip()
    return split(shape[1:-1]) if shape.startswith("(") else [shape]


def _of_collective(c: Collective) -> int:
    """What a device reads and writes in its own memory for one run of a collective."""
    n = max(map(len, c.groups), default=1)
    if c.op in ("all-gather", "reduce-scatter"):
        return c.bytes + c.bytes // n
    return 2 * c.bytes
