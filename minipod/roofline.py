"""What bounds a program: how long its arithmetic, its memory and its network would take, each if it were alone.

The longest of the three is the least that a step can take, and what to work on. Their sum is what the same peaks give
where nothing overlaps. All figures are a chip's peaks, which programs approach and do not reach: a step may take more.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from minipod.chips import Chip

__all__ = ["BOUNDS", "Seconds", "compute_seconds", "memory_seconds"]

BOUNDS = ("compute", "memory", "network")


@dataclass(frozen=True)
class Seconds:
    """Of one device for one step. None: no figure, and `why` says which is missing."""

    compute: float | None
    memory: float | None
    network: float | None
    why: tuple[str, ...] = ()

    @property
    def bound(self) -> str | None:
        """Which of the three is longest: "compute", "memory" or "network"; None where there is none."""
        known = {name: t for name in BOUNDS if (t := getattr(self, name)) is not None}
        return max(known, key=lambda name: known[name]) if known else None

    @property
    def least(self) -> float:
        """The longest of them, with the others hidden behind it."""
        return max((t for name in BOUNDS if (t := getattr(self, name)) is not None), default=0.0)

    @property
    def most(self) -> float:
        """Their sum: at the same peaks, with nothing overlapped. A step may still take longer."""
        return sum(t for name in BOUNDS if (t := getattr(self, name)) is not None)

    @property
    def batches(self) -> float | None:
        """How many times as large a batch makes arithmetic the bound, where only arithmetic grows with it.

        So it is with weights that are read, gathered, or whose gradients are summed; None without a figure.
        """
        if not self.compute or self.memory is None or self.network is None:
            return None
        return max(1.0, self.memory / self.compute, self.network / self.compute)


def compute_seconds(flops: Mapping[str, float], chip: Chip) -> float:
    """FLOPs by element type, at the chip's peaks. ValueError where the chip has no figure for a type."""
    return sum(count / chip.peak(kind) for kind, count in flops.items())


def memory_seconds(moved: float, chip: Chip) -> float:
    """Bytes to and from the chip's memory. ValueError where no source says how fast that is."""
    if chip.bandwidth is None:
        raise ValueError(f"{chip.name} has no figure for the speed of its memory")
    return moved / chip.bandwidth
