"""Read the matrix products of a compiled program: the type that each multiplies, and its FLOPs."""

import re
from math import prod

from minipod.hlo.kernels import KIND, kernel
from minipod.hlo.text import Computation, Instruction, bits, split

_SHAPE = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_GEMM = re.compile(r"gemm|matmul|dot", re.I)


def dimensions(shape: str) -> tuple[str, tuple[int, ...]]:
    """Return the type and sizes of a shape's first array: "bf16", (2, 8) for `"bf16[2,8]{1,0}"`; else ValueError."""
    array = _SHAPE.search(shape)
    if not array:
        raise ValueError(f"{shape} is not the shape of an array")
    return array[1], tuple(map(int, split(array[2])))


def products(computation: Computation, line: Instruction) -> tuple[str, int]:
    """Return the type and FLOPs of a matrix product, or of a kernel that states its own; "", 0 for other instructions.

    The type is that of the wider operand: bf16 times s8 counts as bf16.
    """
    if this := kernel(line):
        return KIND, this.flops or 0
    if line.opcode == "custom-call":
        return _library_call(computation, line)
    if line.opcode not in ("dot", "convolution"):
        return "", 0
    left, right = (dimensions(shape_of(computation, line, i)) for i in (0, 1))
    _, out = dimensions(line.shape)
    kind = max(left[0], right[0], key=_width)
    if kind == "f32" and (asked := re.search(r"operand_precision=\{(\w+),(\w+)\}", line.rest)):
        kind += {"high": "×3", "highest": "×6"}.get(asked[1], "")
    if line.opcode == "dot":
        contracted = split(line.attributes.get("lhs_contracting_dims", "{}")[1:-1])
        return kind, 2 * prod(out) * prod(left[1][int(i)] for i in contracted)
    return kind, _convolution(line, left[1], right[1], out)


def _convolution(line: Instruction, left: tuple[int, ...], right: tuple[int, ...], out: tuple[int, ...]) -> int:
    """Count a convolution: a TPU's compiler writes every matrix product as one, with batches as dimensions with holes.

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


def _width(kind: str) -> tuple[bool, int]:
    """Return a key by which types sort: floating point is wider than integers, and more bits are wider than fewer."""
    return kind[0] in "bfc", bits(kind) or 0


def _library_call(computation: Computation, line: Instruction) -> tuple[str, int]:
    """Count a matrix product in a library call: cuBLAS, oneDNN."""
    target = line.attributes.get("custom_call_target", "")
    contracted = re.search(r'"lhs_contracting_dimensions":\[([^\]]*)\]', line.rest)
    if not _GEMM.search(target) or not contracted or not line.operands:
        return "", 0
    kind, left = dimensions(shape_of(computation, line, 0))
    _, out = dimensions(line.shape)
    axes = [int(i.strip('" ')) for i in split(contracted[1])]
    return kind, 2 * prod(out) * prod(left[i] for i in axes)


def shape_of(computation: Computation, line: Instruction, i: int) -> str:
    """Return the shape of operand `i` of `line`; older texts have it before the operand's name."""
    return line.operands[i].rpartition(" ")[0] or computation.operands(line)[i].shape
