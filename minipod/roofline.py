"""Find what bounds a program: how long its arithmetic, its memory traffic and its network take, each alone.

If a program keeps arrays in the host's memory, the traffic to and from it is a fourth part. A step takes at least as
long as the longest part, which is the one to improve; with nothing overlapped, it takes their sum. All figures use a
chip's peaks, which programs approach but do not reach: a real step may take longer.

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
    """The seconds of one device for one step. None means no figure; `why` has the reasons, a sentence each.

    most_of: for each time that is only a lower bound, how long it could be at most; infinite if nothing bounds the
    missing part. host: 0 if nothing goes to the host's memory.
    """

    compute: float | None
    memory: float | None
    network: float | None
    why: tuple[str, ...] = ()
    most_of: Mapping[str, float] = field(default_factory=dict[str, float])
    host: float | None = 0.0

    @property
    def bound(self) -> str | None:
        """Return which of `BOUNDS` takes longest; None if missing figures could change that."""
        known = {name: t for name in BOUNDS if (t := getattr(self, name)) is not None}
        if not known:
            return None
        longest = max(known, key=lambda name: known[name])
        could_be = {name: self.most_of.get(name, known.get(name, inf)) for name in BOUNDS if name != longest}
        return longest if max(could_be.values()) <= known[longest] else None

    @property
    def least(self) -> float:
        """Return the longest known time, as if all others overlapped with it."""
        return max((t for name in BOUNDS if (t := getattr(self, name)) is not None), default=0.0)

    @property
    def most(self) -> float:
        """Return the sum of the known times: nothing overlaps. A real step, below the peaks, may take longer."""
        return sum(t for name in BOUNDS if (t := getattr(self, name)) is not None)

    @property
    def batches(self) -> float | None:
        """Return by what factor the batch must grow until arithmetic bounds the step, if only arithmetic grows with it.

        This applies to weights that are read or gathered and to gradients that are summed. None if a figure is missing
        or a lower bound, if nothing is computed, or if the host's memory is used.
        """
        if not self.compute or self.memory is None or self.network is None or self.most_of or self.host:
            return None
        return max(1.0, self.memory / self.compute, self.network / self.compute)


def compute_seconds(flops: Mapping[str, float], chip: Chip) -> float:
    """Return the seconds for `flops` (by element type) at the chip's peaks. Raises ValueError for an unknown peak."""
    return sum(count / chip.peak(kind) for kind, count in flops.items())


def compute_seconds_at_least(flops: Mapping[str, float], chip: Chip) -> tuple[float, float, tuple[str, ...]]:
    """Return (seconds for the types with a known peak, upper bound for all types, notes on what is missing).

    "kernel", the FLOPs that custom kernels state, counts at the peak of bf16, and so does an f8 type for which the chip
    has no figure (it multiplies f8 as bf16); s4, u4 and u8 count as s8. Other types, such as s32, are not work of the
    matrix unit: they add nothing to the first figure, and count in the second at a hundredth of the bf16 peak, which
    the vector unit exceeds.
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
    counts = ", ".join(f"{count:.3g} of {kind}" for kind, count in rest.items())
    why = (f"compute does not include FLOPs of types without a known peak on {chip.name}: {counts}",) if rest else ()
    return known, known + sum(rest.values()) / slow, why


def memory_seconds(moved: float, chip: Chip) -> float:
    """Return the seconds for `moved` bytes to and from the chip's memory. Raises ValueError if its speed is unknown."""
    if chip.bandwidth is None:
        raise ValueError(f"minipod has no figure for the speed of {chip.name}'s memory")
    return moved / chip.bandwidth
