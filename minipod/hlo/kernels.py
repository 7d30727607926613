"""Find the cost of custom kernels in Pallas and similar languages.

A compiler does not look into a kernel. Its author may state its cost (`pallas_call(cost_estimate=…)`), which is then in
the call's backend configuration.

The TPU compiler has its own kernel: libtpu 0.0.52 replaces the softmax of scores and its product with values, as in
plain attention, with a kernel `online-softmax` without a stated cost. Its cost follows from the shapes: it does one
product, reads the scores once, and reads the values once for each block of rows.
"""

import re
from dataclasses import dataclass
from math import prod

from minipod.hlo.text import Instruction, split

KIND = "kernel"  # the element type under which its FLOPs are counted
HOST = "HostExecute"  # computed by the host, in unknown time
TARGETS = (HOST, "tpu_custom_call", "mosaic_gpu", "mosaic_gpu_v2", "triton_kernel_call", "__gpu$xla.gpu.triton")
UNREAD = ("__cudnn$", "__onednn$conv")  # library calls for convolutions and attention, whose cost is not read here
_COST = re.compile(r'"cost_estimate":\s*\{([^{}]*)\}')
_FIGURE = re.compile(r'"(\w+)":\s*"?(\d+)')
_TILING = re.compile(r'tiling="(\d+),(\d+)"')  # rows and columns of a block of scores
_ARRAY = re.compile(r"bf16\[([\d,]+)\]")


@dataclass(frozen=True)
class Kernel:
    """One call of a kernel.

    flops: as the author states; None if not stated. moved: bytes read and written; 0 if not stated. sent: bytes sent to
    other devices. reads: how often the kernel reads each operand, if known.
    """

    name: str
    flops: int | None
    moved: int = 0
    sent: int = 0
    reads: tuple[int, ...] = ()


def computes_on_host(line: Instruction) -> bool:
    """Return whether the host computes the result of `line`."""
    called = kernel(line)
    return called is not None and called.name == HOST


def kernel(line: Instruction) -> Kernel | None:
    """Return the kernel that `line` calls; None if it does not call one."""
    if line.opcode not in ("custom-call", "custom-call-start"):
        return None
    target = line.attributes.get("custom_call_target", "").strip('"')
    if target.startswith(UNREAD):
        return Kernel(target, None)
    if target not in TARGETS:
        return None
    name = HOST if target == HOST else re.sub(r"\.[\d.]+$", "", line.name)
    cost = _COST.search(line.rest)
    if not cost:
        return _softmax(line, name) or Kernel(name, None)
    stated = {key: int(figure) for key, figure in _FIGURE.findall(cost[1])}
    flops, moved, sent = (stated.get(key, 0) for key in ("flops", "bytes_accessed", "remote_bytes_transferred"))
    return Kernel(name, flops, moved, sent)


def with_side_effects(line: Instruction) -> str:
    """Return the name of a library's function with side effects that `line` calls; "" for kernels and callbacks."""
    target = line.attributes.get("custom_call_target", "").strip('"')
    effects = line.attributes.get("custom_call_has_side_effect") == "true"
    return target if effects and target not in TARGETS and "_python_" not in target else ""


def _softmax(line: Instruction, name: str) -> Kernel | None:
    """Read the compiler's own kernel, softmax of scores […, q, k] times values […, k, d]; None for other kernels."""
    tiling = _TILING.search(line.attributes.get("frontend_attributes", ""))
    if 'op_name="online-softmax"' not in line.attributes.get("metadata", "") or not tiling:
        return None
    given = split(line.attributes.get("operand_layout_constraints", "{}")[1:-1])
    shapes = [found and [*map(int, split(found[1]))] for found in map(_ARRAY.match, [*given, line.shape])]
    if len(shapes) != 3 or not all(shapes):
        return None
    scores, values, result = (shape or [] for shape in shapes)
    (*outer, q, k), (*rows, d) = scores, values
    if rows != [*outer, k] or result != [*outer, q, d]:
        return None
    high, wide = map(int, tiling.groups())
    again = -(-q // high) if k > wide else 1  # a single block of values serves all rows
    return Kernel(name, 2 * prod(scores) * d, reads=(1, again))
