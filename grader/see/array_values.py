"""Represent arrays as plain data: their bytes, the place of each block, and a few numbers to show."""

import base64
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from grader.see.values import Entry, Tree, Value

Bounds = tuple[tuple[int, int], ...]  # start and stop along each axis


@dataclass(frozen=True)
class Block:
    """One rectangular piece of an array: its place, and its bytes, which an argument may lack."""

    bounds: Bounds
    base64: str | None


@dataclass(frozen=True)
class Placement:
    """The placement of an array: number of devices, whether each has all of it, each one's block, and the layout."""

    count: int
    copies: bool
    where: tuple[tuple[int, Bounds], ...]
    spec: tuple[Entry, ...] | None = None


@dataclass(frozen=True)
class Array(Value):
    """A NumPy array, or a JAX array, which has a placement unless it is traced.

    blocks   the array as one block; if `partial`, this process's blocks of an array over several processes
    objects  in place of blocks if the elements are strings, dates or records
    first    the first numbers on one line, only for display
    copies   for each block whose copies differ, every version, each with the first device that holds it
    """

    dtype: str
    shape: tuple[int, ...]
    jax: bool = False
    traced: bool = False
    partial: bool = False
    blocks: tuple[Block, ...] = ()
    objects: tuple[Value, ...] | None = None
    placement: Placement | None = None
    first: str = field(default="", compare=False)
    copies: tuple[tuple[int, Block], ...] = ()

    @property
    def kind(self) -> str:
        return "jax.Array" if self.jax else "numpy.ndarray"

    @property
    def count(self) -> int:
        """Return the number of devices that hold the array; 1 for an array on the host."""
        return self.placement.count if self.placement else 1

    @property
    def where(self) -> dict[int, Bounds]:
        """Return the block of each device; empty for an array on the host."""
        return dict(self.placement.where) if self.placement else {}

    @property
    def has_numbers(self) -> bool:
        """Return whether the bytes of all blocks are here."""
        return bool(self.blocks) and all(block.base64 is not None for block in self.blocks)

    def numbers(self, block: Block) -> np.ndarray:
        """Return a block's numbers. Raises ValueError or TypeError if its bytes are not what they should be."""
        import ml_dtypes  # noqa: F401 (teaches NumPy the names bfloat16, float8_…)

        data = base64.b64decode(block.base64 or "")
        return np.frombuffer(data, np.dtype(self.dtype)).reshape([b - a for a, b in block.bounds])

    def whole(self) -> np.ndarray | None:
        """Return all numbers; None if this process does not have them."""
        return self.numbers(self.blocks[0]) if self.has_numbers and not self.partial else None

    def validate(self) -> None:
        """Raise ValueError if the parts do not fit each other."""
        everywhere = tuple((0, n) for n in self.shape)
        numbers = not (self.traced or self.objects is not None)
        if self.jax and not self.traced and self.placement is None:
            raise ValueError("where does it lie?")
        if not self.partial and [block.bounds for block in self.blocks] != [everywhere] * numbers:
            raise ValueError("one block was expected")
        if any(self.where.get(device) != block.bounds or block.base64 is None for device, block in self.copies):
            raise ValueError("there is a copy where none was expected")
        for bounds in [*self.where.values(), *(block.bounds for block in self.blocks)]:
            if len(bounds) != len(self.shape) or any(
                not 0 <= a <= b <= n for (a, b), n in zip(bounds, self.shape, strict=True)
            ):
                raise ValueError("a block lies outside the array")
        for block in [*self.blocks, *(block for _, block in self.copies)]:
            if block.base64 is not None:
                self.numbers(block)


def size(x: Value) -> int:
    """Return how much there is to examine: every number of an array, every item of a tree."""
    if isinstance(x, Array):
        return max(1, math.prod(x.shape))
    return 1 + sum(map(size, x.items)) if isinstance(x, Tree) else 1


def arrays_in(x: Value) -> Iterator[Array]:
    """Yield every array of a value, wherever it is."""
    if isinstance(x, Array):
        yield x
    for item in x.items if isinstance(x, Tree) else ():
        yield from arrays_in(item)
