"""List interconnects that you can buy or rent, with figures from published sources."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["LINKS", "Link", "link"]


@dataclass(frozen=True)
class Link:
    """An interconnect.

    bytes_per_second: speed of one link in one direction; with a switch, the speed at which a device can send and, at
        the same time, receive.
    shape: "torus": each axis is a line of devices with links to both neighbours, closed into a ring if `closes` says
        so; both directions and several axes work at once. "ring": one ring through all devices, used in one direction.
        "switch": every device reaches every other in one hop.
    closes: with a torus, an axis is a ring if its size is more than 2 and a multiple of `closes`. 4 is different, for
        machines of 4 × 4 × 4 cubes: all axes are rings if every size is a multiple of 4, otherwise none.
    latency: seconds per hop; 0 if the source gives no latency, so that only bytes count.
    start: seconds that every collective takes before its first hop.
    in_a_ring: with a switch, whether the library sends around a ring, which takes n-1 hops for n devices instead of 1.
    between: name of the link that joins several slices, if a source gives its speed.
    """

    name: str
    bytes_per_second: float
    shape: Literal["torus", "ring", "switch"]
    source: str
    latency: float = 0.0
    closes: int = 1
    start: float = 0.0
    in_a_ring: bool = False
    between: str = ""

    def __post_init__(self):
        if self.bytes_per_second <= 0 or min(self.latency, self.start) < 0 or self.closes < 1:
            raise ValueError(
                f"the link {self.name!r} needs bytes_per_second > 0, latency >= 0, start >= 0 and closes >= 1"
            )
        if self.shape not in ("torus", "ring", "switch"):
            raise ValueError(f"the shape of the link {self.name!r} must be torus, ring or switch, not {self.shape!r}")


_TPU = "https://jax-ml.github.io/scaling-book/tpus (TPU specs), latency: …/sharding (a note on ICI latency)"
_GPU = "https://jax-ml.github.io/scaling-book/gpus (table of NVLink generations)"
_IB = "https://jax-ml.github.io/scaling-book/gpus (beyond the node level)"
_D2L = "https://d2l.ai/chapter_computational-performance/parameterserver.html"
_CLOUD = "cloud.google.com/tpu/docs/tpu7x: 1,200 GB/s a chip over six links, both ways"
_CUT = "https://github.com/aliyun/SimAI, calbusbw.h: 8 links of NVLink"  # each 25 GB/s one way
_ASCEND = "Huawei, Atlas 800T A2: eight, each with 7 links of 56 GB/s both ways (392 GB/s); counted for groups of eight"
# The figures by which NVIDIA's library chooses among its algorithms, for a ring with its protocol of lowest latency:
# 6.6 µs for a start, then 0.6 µs a hop over NVLink, 1.0 over PCIe, 2.7 over a network. Source: NVIDIA/nccl,
# src/graph/tuning.cc, baseLat and hwLat (2.20).
_NVLINK = {"start": 6.6e-6, "latency": 0.6e-6, "in_a_ring": True}
_PCIE = {"start": 6.6e-6, "latency": 1.0e-6, "in_a_ring": True}
_NETWORK = {"start": 6.6e-6, "latency": 2.7e-6, "in_a_ring": True}
_NCCL = "; latency: NCCL, src/graph/tuning.cc"
# The data centre's network (DCN): the share of one chip when all chips of its host use it.
_DCN = "cloud.google.com/tpu/docs/tpu7x (DCN bandwidth per chip: "
_DCN_V5E = "cloud.google.com/tpu/docs/v5e: two NICs of 100 Gbps for the eight chips of a host"
_DCN_V4 = "https://jax-ml.github.io/scaling-book/tpus: typically 2.5e10 bytes a second for the four chips of a host"
_DEAN = "J. Dean, «Numbers Everyone Should Know» (LADIS 2009): 500 µs there and back in a data centre"

LINKS = {
    link.name: link
    for link in (
        Link("TPU v4", 4.5e10, "torus", _TPU, latency=1e-6, closes=4, between="DCN (TPU v4)"),
        Link("TPU v5e", 4.5e10, "torus", _TPU, latency=1e-6, closes=16, between="DCN (TPU v5e)"),
        Link("TPU v5p", 9e10, "torus", _TPU, latency=1e-6, closes=4, between="DCN (TPU v5p)"),
        Link("TPU v6e", 9e10, "torus", _TPU, latency=1e-6, closes=16, between="DCN (TPU v6e)"),
        Link("TPU7x", 1e11, "torus", _CLOUD, closes=4, between="DCN (TPU7x)"),
        Link("DCN (TPU v4)", 6.25e9, "switch", _DCN_V4),
        Link("DCN (TPU v5e)", 3.125e9, "switch", _DCN_V5E),
        Link("DCN (TPU v5p)", 6.25e9, "switch", f"{_DCN}50 Gbps)"),
        Link("DCN (TPU v6e)", 1.25e10, "switch", f"{_DCN}100 Gbps)"),
        Link("DCN (TPU7x)", 6.25e9, "switch", f"{_DCN}100 Gbps); half of it, for one of its two devices"),
        Link("NVLink 2 (8 V100)", 5.4e10, "ring", f"{_D2L}: two rings, 3 × 18 GB/s together"),
        Link("NVLink 3 (A100)", 3e11, "switch", _GPU + _NCCL, **_NVLINK),
        Link("NVLink 3, cut (A800)", 2e11, "switch", _CUT + _NCCL, **_NVLINK),
        Link("NVLink 4 (H100)", 4.5e11, "switch", _GPU + _NCCL, **_NVLINK),
        Link("NVLink 4, cut (H800)", 2e11, "switch", _CUT + _NCCL, **_NVLINK),
        Link("NVLink 5 (B200)", 9e11, "switch", _GPU + _NCCL, **_NVLINK),
        Link("HCCS (8 Ascend 910B)", 1.96e11, "switch", _ASCEND),
        Link("PCIe 3.0 x16", 1.6e10, "switch", _D2L + _NCCL, **_PCIE),
        Link("PCIe 4.0 x16", 3.2e10, "switch", _D2L + _NCCL, **_PCIE),
        Link("InfiniBand NDR", 5e10, "switch", f"{_IB}: 400 Gbit/s{_NCCL}", **_NETWORK),
        Link("InfiniBand NDR, 8 a node", 4e11, "switch", f"{_IB}: 8 × 400 Gbit/s, a node a device{_NCCL}", **_NETWORK),
        Link("RoCE, 200 Gbit", 2.5e10, "switch", f"IEEE 802.3bs{_NCCL}", **_NETWORK),
        Link("RoCE, 400 Gbit", 5e10, "switch", f"IEEE 802.3bs{_NCCL}", **_NETWORK),
        Link("200 Gbit Ethernet", 2.5e10, "switch", f"IEEE 802.3bs{_NCCL}", **_NETWORK),
        Link("1 Gbit Ethernet", 1.25e8, "switch", f"IEEE 802.3ab; latency: {_DEAN}", latency=2.5e-4),
    )
}


def link(name: str) -> Link:
    """Return the interconnect of that name in `LINKS`. Raises ValueError, naming them all, for an unknown name."""
    if name not in LINKS:
        raise ValueError(f"no interconnect is called {name!r}: choose one of {'; '.join(LINKS)}")
    return LINKS[name]
