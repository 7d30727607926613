"""Represent Python values as plain data, so that an answer observed in one process can be compared in another.

Fields that are only for display do not count when values are compared with ==. Arrays: see array_values.py.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

Entry = str | tuple[str, ...] | None  # one dimension of a PartitionSpec


class Value:
    """Any of the classes below."""

    type_name: ClassVar[str] = ""

    @property
    def kind(self) -> str:
        """Return the name of the type as a learner knows it."""
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
    """A NamedSharding, which has a mesh, or a different sharding, of which only the devices are known."""

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
    """A container of other values, in `items`."""

    items: tuple[Value, ...]

    @property
    def labels(self) -> list[Any]:
        """Return the name of each item in a path: its key, or its position."""
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

    def in_order_of(self, other: "Dict") -> "Dict | None":
        """Return the same dict with its keys in the order of `other`; None if the keys differ."""
        items = dict(zip(self.keys, self.items, strict=True))
        if len(self.keys) != len(other.keys) or items.keys() != set(other.keys):
            return None
        return Dict(other.keys, tuple(items[key] for key in other.keys))

    def validate(self) -> None:
        """Raise ValueError if the numbers of keys and items differ."""
        if len(self.keys) != len(self.items):
            raise ValueError("the numbers of keys and items differ")


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
    """Anything else. called: the name of a function or class. repr: only for display."""

    name: str
    called: str | None
    repr: str = field(compare=False)

    @property
    def kind(self) -> str:
        return self.name


def leaves(x: Value, path: str = "") -> dict[str, Value]:
    """Return the leaves of a tree by path, written as in `Difference.path`."""
    if not isinstance(x, Tree) or isinstance(x, Slice):
        return {path: x}
    result: dict[str, Value] = {}
    for label, item in zip(x.labels, x.items, strict=True):
        result |= leaves(item, f"{path}[{label!r}]")
    return result


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
