"""What a custom kernel, of Pallas or another such language, says of its own cost.

A compiler does not look into a kernel. Its author may have said what it costs (`pallas_call(cost_estimate=…)`): then
that stands beside the call, in the backend's words.
"""

import re
from dataclasses import dataclass

from minipod.hlo.text import Instruction

KIND = "kernel"  # the element type under which its FLOPs are counted
HOST = "HostExecute"  # what the host computes: nothing says how long it takes
TARGETS = (HOST, "tpu_custom_call", "mosaic_gpu", "mosaic_gpu_v2", "triton_kernel_call", "__gpu$xla.gpu.triton")
_COST = re.compile(r'"cost_estimate":\s*\{([^{}]*)\}')
_FIGURE = re.compile(r'"(\w+)":\s*"?(\d+)')


@dataclass(frozen=True)
class Kernel:
    """One call of a kernel.

    flops: as its author says; None where nothing is said. moved: bytes that it reads and writes, 0 where nothing is
    said. sent: bytes that it sends to other devices.
    """

    name: str
    flops: int | None
    moved: int = 0
    sent: int = 0


def computes_on_host(line: Instruction) -> bool:
    """Does it hand something to the host to compute?"""
    found = kernel(line)
    return found is not None and found.name == HOST


def kernel(line: Instruction) -> Kernel | None:
    """The kernel that `line` calls; None where it calls none."""
    if line.opcode not in ("custom-call", "custom-call-start"):
        return None
    target = line.attributes.get("custom_call_target", "").strip('"')
    if target not in TARGETS:
        return None
    name = HOST if target == HOST else re.sub(r"\.[\d.]+$", "", line.name)
    found = _COST.search(line.rest)
    if not found:
        return Kernel(name, None)
    said = {key: int(figure) for key, figure in _FIGURE.findall(found[1])}
    return Kernel(name, said.get("flops", 0), said.get("bytes_accessed", 0), said.get("remote_bytes_transferred", 0))
