"""Python values as plain data, so that an answer seen in one process can be compared in another.

Arrays keep their bytes, where each block lies, and a few numbers to show. What is only there to be shown does not count
when values are compared with ==.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

Bounds = tuple[tuple[int, int], ...]  # start and stop along each axis
Entry = str | tuple[str, ...] | None  # one dimension of a PartitionSpec


class Value:
    """Any of the classes below."""

    type_name: ClassVar[str] = ""

    @property
    def kind(self) -> str:
        """The name of its type as a learner knows it."""
        return self.type_name


@dataclass(frozen=True)
class Nothing(Value):
    type_name: ClassVar[str] = "None"


@dataclass(frozen=True)
class Bool(Value):
    type_name: ClassVar[str] = "bool"
    number: bool


@dataclass(frozen=True)
class Int(Value):
    type_name: ClassVar[str] = "int"
    number: int


@dataclass(frozen=True)
class Float(Value):
    type_name: ClassVar[str] = "float"
    number: float


@dataclass(frozen=True)
class Complex(Value):
    type_name: ClassVar[str] = "complex"
    real: float
    imag: float

    @property
    def number(self) -> complex:
        return complex(self.real, self.imag)


Number = Bool | Int | Float | Complex


@dataclass(frozen=True)
class Text(Value):
    type_name: ClassVar[str] = "str"
    text: str


@dataclass(frozen=True)
class Bytes(Value):
    type_name: ClassVar[str] = "bytes"
    base64: str


@dataclass(frozen=True)
class Spec(Value):
    """A PartitionSpec."""

    type_name: ClassVar[str] = "PartitionSpec"
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Mesh(Value):
    """The axes with their sizes, and the devices' numbers."""

    type_name: ClassVar[str] = "Mesh"
    axes: tuple[tuple[str, int], ...]
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Sharding(Value):
    """A NamedSharding, which has a mesh, or another, of which only the devices are known."""

    type_name: ClassVar[str] = "Sharding"
    type: str
    devices: tuple[int, ...] = ()
    mesh: Value | None = None
    spec: tuple[Entry, ...] = ()
    memory: str | None = None


@dataclass(frozen=True)
class Device(Value):
    type_name: ClassVar[str] = "Device"
    id: int


@dataclass(frozen=True)
class Struct(Value):
    """A jax.ShapeDtypeStruct."""

    type_name: ClassVar[str] = "struct"
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class DType(Value):
    type_name: ClassVar[str] = "dtype"
    dtype: str


class Tree(Value):
    """What holds other values, in `items`."""

    items: tuple[Value, ...]

    @property
    def labels(self) -> list[Any]:
        """How each item is called in a path: its key, or its place."""
        return list(range(len(self.items)))


@dataclass(frozen=True)
class List(Tree):
    type_name: ClassVar[str] = "list"
    items: tuple[Value, ...]


@dataclass(frozen=True)
class Tuple(Tree):
    type_name: ClassVar[str] = "tuple"
    items: tuple[Value, ...]


@dataclass(frozen=True)
class Set(Tree):
    type_name: ClassVar[str] = "set"
    items: tuple[Value, ...]


@dataclass(frozen=True)
class Slice(Tree):
    type_name: ClassVar[str] = "slice"
    items: tuple[Value, ...]


@dataclass(frozen=True)
class Dict(Tree):
    type_name: ClassVar[str] = "dict"
    keys: tuple[Value, ...]
    items: tuple[Value, ...]

    @property
    def labels(self) -> list[Any]:
        return list(map(_label, self.keys))

    def validate(self) -> None:
        """Raises ValueError where keys and items are not as many."""
        if len(self.keys) != len(self.items):
            raise ValueError("keys and items are not as many")


@dataclass(frozen=True)
class Node(Tree):
    """A dataclass, or another container that JAX knows."""

    name: str
    items: tuple[Value, ...]

    @property
    def kind(self) -> str:
        return self.name


@dataclass(frozen=True)
class Other(Value):
    """Anything else. called: the name of a function or class; repr: only to be shown."""

    name: str
    called: str | None
    repr: str = field(compare=False)

    @property
    def kind(self) -> str:
        return self.name


@dataclass(frozen=True)
class Block:
    """One rectangular piece of an array: where it lies, and its bytes, which an argument may lack."""

    bounds: Bounds
    base64: str | None


@dataclass(frozen=True)
class Placement:
    """Over how many devices an array lies, whether each has all of it, which block each one holds, and its layout."""

    count: int
    copies: bool
    where: tuple[tuple[int, Bounds], ...]
    spec: tuple[Entry, ...] | None = None


@dataclass(frozen=True)
class Array(Value):
    """An array of NumPy, or of JAX, which has a placement unless it is traced.

    blocks   the array as one block; or `partial`, of an array over several processes this one's blocks
    objects  in place of blocks where they are texts, dates, records
    first    its first numbers on one line, only to be shown
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

    @property
    def kind(self) -> str:
        return "jax.Array" if self.jax else "numpy.ndarray"

    @property
    def count(self) -> int:
        """Over how many devices it lies; 1 for an array on the host."""
        return self.placement.count if self.placement else 1

    @property
    def where(self) -> dict[int, Bounds]:
        """The block of each device; none for an array on the host."""
        return dict(self.placement.where) if self.placement else {}

    @property
    def has_numbers(self) -> bool:
        """Whether the bytes of all blocks are here."""
        return bool(self.blocks) and all(block.base64 is not None for block in self.blocks)

    def numbers(self, block: Block) -> np.ndarray:
        """A block's numbers. Raises ValueError or TypeError when its bytes are not what they should be."""
        import ml_dtypes  # noqa: F401 (teaches NumPy the names bfloat16, float8_…)

        data = base64.b64decode(block.base64 or "")
        return np.frombuffer(data, np.dtype(self.dtype)).reshape([b - a for a, b in block.bounds])

    def whole(self) -> np.ndarray | None:
        """All numbers, where this process has them."""
        return self.numbers(self.blocks[0]) if self.has_numbers and not self.partial else None

    def validate(self) -> None:
        """Raises ValueError where the parts do not fit one another."""
        everywhere = tuple((0, n) for n in self.shape)
        numbers = not (self.traced or self.objects is not None)
        if self.jax and not self.traced and self.placement is None:
            raise ValueError("where does it lie?")
        if not self.partial and [block.bounds for block in self.blocks] != [everywhere] * numbers:
            raise ValueError("one block was expected")
        for bounds in [*self.where.values(), *(block.bounds for block in self.blocks)]:
            if len(bounds) != len(self.shape) or any(
                not 0 <= a <= b <= n for (a, b), n in zip(bounds, self.shape, strict=True)
            ):
                raise ValueError("a block lies outside the array")
        for block in self.blocks:
            if block.base64 is not None:
                self.numbers(block)


def leaves(x: Value, path: str = "") -> dict[str, Value]:
    """The leaves of a tree by path, spelled as in `Difference.path`."""
    if not isinstance(x, Tree) or isinstance(x, Slice):
        return {path: x}
    found: dict[str, Value] = {}
    for label, item in zip(x.labels, x.items, strict=True):
        found |= leaves(item, f"{path}[{label!r}]")
    return found


def arrays_in(x: Value) -> Iterator[Array]:
    """Every array of a value, wherever it is."""
    if isinstance(x, Array):
        yield x
    for item in x.items if isinstance(x, Tree) else ():
        yield from arrays_in(item)


def _label(key: Value) -> Any:
    match key:
        case Bool() | Int() | Float() | Complex():
            return key.number
        case Text(text):
            return text
        case Bytes(text):
            return text
        case Spec(entries):
            return list(entries)
        case Device(number):
            return number
        case DType(name) | Node(name, _) | Other(name, _, _):
            return name
    return None
