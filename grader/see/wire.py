"""Turn dataclasses into JSON data, and back.

`decode` takes nothing for granted, because data from a learner's process may be forged.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

TAG = "t"  # the class of a dataclass
T = TypeVar("T")
_PLAIN = (bool, int, float, str, types.NoneType)


class Malformed(ValueError):
    """Raised for data that do not have the form of the class."""


def encode(x: Any) -> Any:
    """Turn a dataclass, or a container of dataclasses, into JSON data; each contains the name of its class."""
    if isinstance(x, _PLAIN):
        return x
    if isinstance(x, tuple | list):
        return [encode(item) for item in x]
    if isinstance(x, Mapping):
        return {key: encode(value) for key, value in x.items()}
    if isinstance(x, set | frozenset):
        return sorted(x)
    return {TAG: type(x).__name__} | {name: encode(getattr(x, name)) for name in _hints(type(x))}


def decode(kind: type[T], data: object) -> T:
    """Restore an object of the class `kind` from the data that `encode` made. A base class stands for any subclass.

    Raises Malformed, also if the object's own `validate` raises.
    """
    try:
        return _decoded(kind, data)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise Malformed(str(error)) from None


def _decoded(hint: Any, data: Any) -> Any:
    if hint in _PLAIN:
        return _plain(hint, data)
    if hint is object:
        return data
    if isinstance(hint, types.UnionType):
        return _one_of(hint.__args__, data)
    if isinstance(hint, types.GenericAlias):
        return _container(hint.__origin__, hint.__args__, data)
    fields = {**data}
    name = fields.pop(TAG)
    kind = _named(hint)[name]
    hints = _hints(kind)
    if fields.keys() != hints.keys():
        raise Malformed(f"{name} does not have the fields {', '.join(hints)}")
    made = kind(**{key: _decoded(inner, fields[key]) for key, inner in hints.items()})
    if hasattr(made, "validate"):
        made.validate()
    return made


def _plain(kind: type, data: Any) -> Any:
    fits = type(data) in (int, float) if kind is float else type(data) is kind
    if not fits:
        raise Malformed(f"a {type(data).__name__}, not a {kind.__name__}")
    return data


def _one_of(kinds: tuple[Any, ...], data: Any) -> Any:
    if data is None and types.NoneType in kinds:
        return None
    why = ""
    for kind in kinds:
        try:
            return _decoded(kind, data)
        except (Malformed, LookupError, TypeError) as error:
            why = why or str(error)
    raise Malformed(why)


def _container(kind: Any, inner: tuple[Any, ...], data: Any) -> Any:
    if issubclass(kind, Mapping):
        return {_plain(str, key): _decoded(inner[1], value) for key, value in _of(dict, data).items()}
    items = _of(list, data)
    if kind is tuple and inner[-1] is not ...:
        return tuple(_decoded(one, item) for one, item in zip(inner, items, strict=True))
    return kind(_decoded(inner[0], item) for item in items)


def _of(kind: type, data: Any) -> Any:
    if not isinstance(data, kind):
        raise Malformed(f"a {type(data).__name__}, not a {kind.__name__}")
    return data


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


@functools.cache
def _named(kind: type) -> dict[str, type]:
    """Return the dataclasses for which a class stands, by name."""
    kinds = {kind.__name__: kind} if dataclasses.is_dataclass(kind) else {}
    for inner in kind.__subclasses__():
        kinds |= _named(inner)
    return kinds
