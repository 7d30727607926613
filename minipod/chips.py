"""Look up a chip's peak FLOP/s, memory and links, as published by its maker or by others.

A figure without a reliable source is left out: tables show `–`, and functions that cannot do without the figure raise
ValueError. Peaks are for dense matrices.

    >>> from minipod import chips
    >>> v5e = chips.chip("TPU v5e")
    >>> v5e.flops["bf16"], v5e.bandwidth, v5e.link
    (197000000000000.0, 819000000000.0, 'TPU v5e')
"""

from collections.abc import Mapping
from dataclasses import dataclass

from minipod.tables import Table
from minipod.traffic.interconnects import LINKS, Link

__all__ = ["CHIPS", "Chip", "chip", "table"]


@dataclass(frozen=True)
class Chip:
    """A chip; for TPU7x, one of the two JAX devices on a chip.

    flops: element type (bf16, f16, f32, s8, f8) → peak FLOP/s of matrix products. memory: bytes. source: of figures.
    bandwidth: bytes per second to and from memory. link: name in `minipod.traffic.LINKS`. host: bytes per second to the
    host's memory, and as many in the other direction. bandwidth and host are None if no source gives them.
    """

    name: str
    flops: Mapping[str, float]
    memory: float
    bandwidth: float | None
    link: str
    source: str
    host: float | None = None

    def peak(self, kind: str) -> float:
        """Return the peak FLOP/s for products of an element type, such as `bf16` or `f32×6` (see `minipod.hlo.work`).

        Raises ValueError if no source gives it, or for several passes (`×6`) on a chip that is not a TPU.
        """
        base, _, passes = kind.partition("×")
        alike = "f8" if base.startswith("f8") else "bf16" if base == "f16" else base
        short = base if base in self.flops else alike
        if short not in self.flops or (passes and not self.name.startswith("TPU")):
            raise ValueError(f"minipod has no peak FLOP/s for {kind} on {self.name}, only for {', '.join(self.flops)}")
        return self.flops[short] / int(passes or 1)

    @property
    def carrier(self) -> Link:
        return LINKS[self.link]


def _tpu(name: str, bf16: float, memory: float, bandwidth: float, host: float, source: str, s8: float) -> Chip:
    """Make a TPU. It computes float32 products in bfloat16, unless more precision is asked for (jax.lax.Precision).

    host: from jax-ml.github.io/scaling-book/tpus: "typically around 1.5e10", v4 16 GB/s each way, v6e 32 GB/s.
    """
    return Chip(name, {"bf16": bf16, "f32": bf16, "s8": s8}, memory, bandwidth, name, source, host)


_CLOUD = "cloud.google.com/tpu/docs/"
_SCALING = "jax-ml.github.io/scaling-book/gpus (summary of GPU specs)"
_TPUS = "jax-ml.github.io/scaling-book/tpus"
_VERL = "github.com/volcengine/verl, flops_counter.py"
_GIB = 2**30  # what makers print as GB of memory

CHIPS = {
    chip.name: chip
    for chip in (
        _tpu("TPU v4", 2.75e14, 32 * _GIB, 1.2e12, 1.6e10, f"{_CLOUD}v4", s8=2.75e14),
        _tpu("TPU v5e", 1.97e14, 16 * _GIB, 8.19e11, 1.5e10, f"{_CLOUD}v6e (beside v6e)", s8=3.93e14),
        _tpu("TPU v5p", 4.59e14, 96 * _GIB, 2.765e12, 1.5e10, f"{_CLOUD}v5p; int8: {_TPUS}", s8=9.18e14),
        _tpu("TPU v6e", 9.18e14, 32 * _GIB, 1.64e12, 3.2e10, f"{_CLOUD}v6e", s8=1.836e15),
        # Two of JAX's devices on a chip, with half of it each.
        Chip(
            "TPU7x", {"bf16": 2.307e15 / 2, "f32": 2.307e15 / 2, "f8": 4.614e15 / 2}, 96 * _GIB, 7.3e12 / 2, "TPU7x",
            f"{_CLOUD}tpu7x; speed of memory: Google at Hot Chips 2025; half a chip, one of its two devices",
        ),
        Chip("V100", {"f16": 1.25e14}, 32 * _GIB, 9e11, "NVLink 2 (8 V100)", f"{_SCALING}; FP16: NVIDIA, Tesla V100"),
        Chip("A100", {"bf16": 3.12e14, "s8": 6.24e14}, 80 * _GIB, 2.039e12, "NVLink 3 (A100)", "NVIDIA, A100"),
        Chip(
            "A800", {"bf16": 3.12e14, "s8": 6.24e14}, 80 * _GIB, 2.039e12, "NVLink 3, cut (A800)",
            "an A100 whose NVLink is cut to 400 GB/s both ways: Reuters, 8 November 2022",
        ),
        Chip("H100", {"bf16": 9.9e14, "f8": 2e15}, 80 * _GIB, 3.35e12, "NVLink 4 (H100)", f"{_SCALING}; NVIDIA, H100"),
        Chip(
            "H800", {"bf16": 9.9e14, "f8": 2e15}, 80 * _GIB, 3.35e12, "NVLink 4, cut (H800)",
            "an H100 whose NVLink is cut to 400 GB/s both ways: arXiv 2505.09343",
        ),
        Chip("H20", {"bf16": 1.48e14}, 96 * _GIB, 4e12, "NVLink 4 (H100)", f"{_VERL}; memory: as sellers list it"),
        Chip("H200", {"bf16": 9.9e14, "f8": 2e15}, 141 * _GIB, 4.8e12, "NVLink 4 (H100)", _SCALING),
        Chip("B200", {"bf16": 2.3e15, "f8": 4.5e15}, 192 * _GIB, 8e12, "NVLink 5 (B200)", _SCALING),
        Chip(
            "Ascend 910B", {"bf16": 3.54e14}, 64 * _GIB, None, "HCCS (8 Ascend 910B)",
            f"{_VERL} (others give 256 to 376 TFLOP/s); speed of memory: others give 0.4 to 1.6 TB/s",
        ),
    )
}  # fmt: skip


def chip(name: str) -> Chip:
    """Return the chip called `name`. Raises ValueError, listing all names, for an unknown name."""
    if name not in CHIPS:
        raise ValueError(f"no chip is called {name!r}: choose one of {', '.join(CHIPS)}")
    return CHIPS[name]


def table() -> Table:
    """Return a table of all chips: TFLOP/s of bfloat16, GiB, TB/s of memory, link, GB/s of a link, source."""
    columns = ("chip", "TFLOP/s bf16", "GiB", "TB/s", "link", "GB/s a link", "source")
    rows = []
    for c in CHIPS.values():
        peak = c.flops.get("bf16")
        rows.append(
            (
                c.name,
                f"{peak / 1e12:,.0f}" if peak else "–",
                f"{c.memory / _GIB:,.0f}",
                f"{c.bandwidth / 1e12:.2f}" if c.bandwidth else "–",
                c.link,
                f"{c.carrier.bytes_per_second / 1e9:,.0f}",
                c.source,
            )
        )
    return Table(columns, tuple(rows), left=(0, 4, 6), kind="chips")
