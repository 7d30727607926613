"""What bounds a program: how long its arithmetic, its memory and its network would take, each if it were alone.

Where a program keeps arrays in the memory of the host, what goes there and back is a fourth.
The longest of them is the least that a step can take, and what to work on. Their sum is what the same peaks give
where nothing overlaps. All figures are a chip's peaks, which programs approach and do not reach: a step may take more.

    >>> from minipod import chips, roofline
    >>> v5e = chips.chip("TPU v5e")
    >>> times = roofline.Seconds(
    ...     compute=roofline.compute_seconds({"bf16": 1e12}, v5e),
    ...     memory=roofline.memory_seconds(8e9, v5e),
    ...     network=0.0,
    ... )
    >>> times.bound
    'memory'
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from minipod.chips import Chip

__all__ = ["BOUNDS", "Seconds", "compute_seconds", "compute_seconds_at_least", "memory_seconds"]

BOUNDS = ("compute", "memory", "network", "host")


@dataclass(frozen=True)
class Seconds:
    """Of one device for one step. None: no figure, and `why` says which is missing.

    most_of: of those in which something is missing, and which are so «at least», how long they could be; a name with an
    infinite time is one of which nothing bounds what is missing. host: 0 where nothing goes to the host's memory.
    """

    compute: float | None
    memory: float | None
    network: float | None
    why: tuple[str, ...] = ()
    most_of: Mapping[str, float] = field(default_factory=dict[str, float])
    host: float | None = 0.0

    @property
    def bound(self) -> str | None:
        """Which of `BOUNDS` is longest; None where what is missing could turn it."""
        known = {name: t for name in BOUNDS if (t := getattr(self, name)) is not None}
        if not known:
            return None
        longest = max(known, key=lambda name: known[name])
        could_be = {name: self.most_of.get(name, known.get(name, inf)) for name in BOUNDS if name != longest}
        return longest if max(could_be.values()) <= known[longest] else None

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
        if not self.compute or self.memory is None or self.network is None or self.most_of or self.host:
            return None
        return max(1.0, self.memory / self.compute, self.network / self.compute)


def compute_seconds(flops: Mapping[str, float], chip: Chip) -> float:
    """FLOPs by element type, at the chip's peaks. ValueError where the chip has no figure for a type."""
    return sum(count / chip.peak(kind) for kind, count in flops.items())


def compute_seconds_at_least(flops: Mapping[str, float], chip: Chip) -> tuple[float, float, tuple[str, ...]]:
    """Seconds of the types for which the chip has a figure, seconds that all could take at most, and sentences.

    "kernel", what custom kernels say that they compute, counts at the peak of bf16, and so does an f8 of which the chip
    has no figure (it multiplies it as bf16), an s4 or u4 as s8. Other types, s32 and u32 among them, are no work of its
    matrix unit: they count as nothing, and at most as at a hundredth of that peak, which its vector unit exceeds.
    """
    known, rest = 0.0, {}
    for kind, count in flops.items():
        base = kind.partition("×")[0]
        alike = {"kernel": "bf16", "s4": "s8", "u4": "s8", "u8": "s8"}.get(
            base, "bf16" if base.startswith("f8") else ""
        )
        try:
            known += count / chip.peak(kind)
        except ValueError:
            if alike in chip.flops:
                known += count / chip.flops[alike]
            else:
                rest[kind] = count
    slow = chip.flops.get("bf16", max(chip.flops.values())) / 100
    said = ", ".join(f"{count:.3g} of {kind}" for kind, count in rest.items())
    why = (f"compute leaves out FLOPs of which {chip.name} has no figure: {said}",) if rest else ()
    return known, known + sum(rest.values()) / slow, why


def memory_seconds(moved: float, chip: Chip) -> float:
    """Bytes to and from the chip's memory. ValueError where no source says how fast that is."""
    if chip.bandwidth is None:
        raise ValueError(f"{chip.name} has no figure for the speed of its memory")
    return moved / chip.bandwidth
