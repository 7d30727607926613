"""Compare two arrays, with the facts about their case that diagnoses need."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from grader.judge.compare import scale_of, slack
from grader.see.array_values import Array, Bounds
from grader.see.values import Bool, Complex, Float, Int, List, Tuple, Value

MOST_ROWS = 2048  # of an axis along which something is looked for


@dataclass(frozen=True)
class Setting:
    """Facts about one case. given: small arrays among the arguments, each as (argument, place in it, array)."""

    devices: int
    processes: int = 1
    axes: dict[str, int] = field(default_factory=dict)
    given: tuple[tuple[int, str, np.ndarray], ...] = ()


@dataclass(frozen=True)
class Pair:
    """The result and the expected value, as f64 or c128, of any shapes.

    whole   whether both are integers or booleans, which must be equal
    array   whether the result is an array; an int or a tuple of ints may also be the number of a process
    blocks  for each distinct block of the expected array, the devices that hold it, and its place
    """

    got: np.ndarray
    expected: np.ndarray
    tolerance: float
    setting: Setting
    whole: bool = False
    array: bool = True
    blocks: tuple[tuple[tuple[int, ...], tuple[slice, ...]], ...] = ()

    @property
    def one_shape(self) -> bool:
        """Return whether both have the same shape."""
        return self.got.shape == self.expected.shape

    @property
    def slack(self) -> float:
        """Return the greatest difference allowed between two numbers at the same place."""
        return self.tolerance * scale_of(self.expected)

    def apart(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return where two arrays of one shape differ."""
        return ~np.isclose(a, b, rtol=self.tolerance, atol=self.slack, equal_nan=True)

    def like(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Return whether two arrays have one shape and the same numbers."""
        return a.shape == b.shape and not self.apart(a, b).any()

    def varied(self, x: np.ndarray) -> bool:
        """Return whether the numbers are not all the same."""
        return x.size > 1 and not self.like(x, np.full(x.shape, x.flat[0]))

    def long_axes(self, least: int = 2) -> list[int]:
        """Return the dimensions that can tell something: those that are long enough and have differing numbers."""
        return [a for a, n in enumerate(self.expected.shape) if least <= n <= MOST_ROWS and self.varied(self.expected)]

    def pieces(self) -> tuple[tuple[tuple[int, ...], tuple[slice, ...]], ...]:
        """Return the blocks if there are several."""
        return self.blocks if len(self.blocks) > 1 else ()


def pair(
    got: Sequence[Value | None], expected: Sequence[Value | None], place: int, tolerance: float, setting: Setting
) -> Pair | None:
    """Return values as arrays, or None if they are not numbers.

    got, expected  the same part of the tree in every process; place: the process in question
    """
    a, b = (numbers(x, place) for x in (got, expected))
    if a is None or b is None:
        return None
    whole = a.dtype.kind in "biu" and b.dtype.kind in "biu"
    tolerance = 1e-9 if whole else slack(tolerance, a, b)
    wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    array = isinstance(got[place], Array)
    return Pair(a.astype(wide), b.astype(wide), tolerance, setting, whole, array, _blocks(expected[place]))


def numbers(everywhere: Sequence[Value | None], place: int = 0) -> np.ndarray | None:
    """Return a number, an array or a list of these as one array; of an array over processes, all blocks."""
    match everywhere[place]:
        case Int(number) if abs(number) > 1 << 1000:  # more than a float can say
            return None
        case (Bool() | Int() | Float() | Complex()) as x:
            return np.asarray(x.number)
        case List(items) | Tuple(items) if items:
            parts = [numbers([item]) for item in items]
            same = all(p is not None and p.shape == parts[0].shape for p in parts)  # type: ignore[union-attr]
            return np.asarray(parts) if same else None
        case Array(partial=True) as x if not x.blocks:
            return None  # somebody has taken them out
        case Array(partial=True) as x:
            whole = np.zeros(x.shape, x.numbers(x.blocks[0]).dtype)
            for other in everywhere:
                if isinstance(other, Array) and other.partial and other.shape == x.shape:
                    for block in other.blocks:
                        whole[tuple(slice(a, b) for a, b in block.bounds)] = other.numbers(block)
            return whole
        case Array() as x:
            return x.whole()
    return None


def _blocks(x: Value | None) -> tuple[tuple[tuple[int, ...], tuple[slice, ...]], ...]:
    held: dict[Bounds, list[int]] = {}
    for device, bounds in x.where.items() if isinstance(x, Array) else ():
        held.setdefault(bounds, []).append(device)
    return tuple((tuple(devices), tuple(slice(a, b) for a, b in bounds)) for bounds, devices in held.items())
