"""Describe values briefly, as a learner would write them: arguments, results, expected values."""

import re
from collections.abc import Sequence

import numpy as np

from grader.messages import say
from grader.see.array_values import Array
from grader.see.values import (
    Bool,
    Bytes,
    Complex,
    Device,
    Dict,
    DType,
    Entry,
    Float,
    Int,
    List,
    Mesh,
    Nothing,
    Other,
    Set,
    Sharding,
    Slice,
    Spec,
    Struct,
    Text,
    Tree,
    Tuple,
    Value,
)

SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}
LONG = 110  # characters of one value
CALL = 240  # characters of all arguments; each has its share of them, or the last are never seen
FEW = 24  # numbers of an argument that are shown


def call(name: str, args: Sequence[Value], lang: str) -> str:
    """Return the call with its arguments; long ones are cut in the middle, and small arrays show their numbers."""
    texts = [show(arg, lang, brief=True) + _all_numbers(arg) for arg in args]
    if sum(map(len, texts)) > CALL:
        texts = [show(arg, lang, brief=True) for arg in args]
    room = CALL
    for k, n in enumerate(sorted(range(len(texts)), key=lambda n: len(texts[n]))):  # who needs little leaves the rest
        texts[n] = shortened(texts[n], room // (len(texts) - k))
        room -= len(texts[n])
    return f"{name}({', '.join(texts)})"


def arrays(of: Sequence[Value], lang: str) -> str:
    """Return the types of arrays, whatever devices they are on: `f32[4, 5], i32[4]`."""
    return say("list-comma", lang).join(_type(x) for x in of if isinstance(x, Array))


def shortened(text: str, most: int) -> str:
    """Return the beginning and the end of a long text, since either may contain the decisive part."""
    most = max(most, 20)
    return text if len(text) <= most else f"{text[: most // 2].rstrip()} … {text[len(text) - most // 2 :].lstrip()}"


def _all_numbers(x: Value) -> str:
    """Return the numbers of a small array, as ` = [1 2 3]`."""
    if not isinstance(x, Array) or x.traced or (numbers := x.whole()) is None or not 0 < numbers.size <= FEW:
        return ""
    return f" = {_numbers(numbers)}"


def _numbers(x: np.ndarray) -> str:
    if x.ndim:
        return "[" + " ".join(map(_numbers, x)) + "]"
    return f"{x.item():.4g}" if isinstance(x.item(), float) else str(x.item())


def around(x: Value, at: str) -> str:
    """Return the numbers around the one at this index, as `[3, 0:5] = [0.1 0.2 0.3 0.4 0.5]`; "" for the first few."""
    index = [int(n) for n in re.findall(r"\d+", at)]
    if not isinstance(x, Array) or len(index) != len(x.shape) or not index:
        return ""
    if sum(i * int(np.prod(x.shape[k + 1 :])) for k, i in enumerate(index)) < 6:
        return ""  # it is among those that are shown anyway
    for block in x.blocks:
        if block.base64 is not None and all(a <= i < b for i, (a, b) in zip(index, block.bounds, strict=True)):
            first = max(block.bounds[-1][0], index[-1] - 2)
            last = min(block.bounds[-1][1], first + 5)
            here = tuple(i - a for i, (a, _) in zip(index[:-1], block.bounds, strict=False))
            row = x.numbers(block)[here][first - block.bounds[-1][0] : last - block.bounds[-1][0]]
            place = ", ".join([*map(str, index[:-1]), f"{first}:{last}"])
            return f"[{place}] = {_numbers(row.astype(np.float32) if row.dtype.kind == 'V' else row)}"
    return ""


def show(x: Value, lang: str, brief: bool = False, numbers: str = "") -> str:
    """Describe a value briefly. brief: leave out the numbers of arrays and the longer remarks.

    numbers  those of an array to show, in place of its first numbers
    """
    match x:
        case Array():
            return _array(x, lang, brief, numbers)
        case Tree():
            return shortened(_tree(x, lang), LONG * 2)
        case Spec(entries):
            return spec_text(entries)
        case Mesh(axes, ids):
            text = "Mesh(" + ", ".join(f"{name}={size}" for name, size in axes) + ")"
            return text if brief or not ids else f"{text}, {list(ids)}"
        case Sharding(mesh=Value() as mesh, spec=spec):
            return f"NamedSharding({show(mesh, lang, brief=True)}, {spec_text(spec)})"
        case Sharding(name, devices):
            return f"{name}({', '.join(map(str, devices))})"
        case Struct():
            return _type(x)
        case Nothing():
            return "None"
        case Device(number):
            return f"CpuDevice(id={number})"
        case Other("generator") if not brief:
            return say("a-generator", lang)
        case Other(name, called, text):
            return called or (text if brief else say("a-value-of-type", lang, type=name, text=text))
        case Bool() | Int() | Float() | Complex():
            text = repr(x.number)
        case Text(words):
            text = repr(words)
        case Bytes(encoded):
            text = repr(encoded)
        case DType(text):
            pass
        case _:
            raise TypeError(f"{x} cannot be shown")
    return shortened(text, LONG)


def _tree(x: Tree, lang: str) -> str:
    items = [show(item, lang, True) for item in x.items]
    match x:
        case Dict(keys):
            return "{" + ", ".join(f"{show(k, lang)}: {i}" for k, i in zip(keys, items, strict=True)) + "}"
        case List():
            return f"[{', '.join(items)}]"
        case Set():
            return "{" + ", ".join(items) + "}"
        case Tuple(parts) if parts and all(isinstance(part, Slice) for part in parts):
            return f"[{', '.join(map(_range, parts))}]"  # an index, as it is written between brackets
        case Tuple():
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        case Slice():
            return f"slice({', '.join(items[:-1] if items[-1] == 'None' else items)})"
    return f"{x.kind}({', '.join(items)})"


def _range(x: Value) -> str:
    """Return a slice as it is written between brackets: `0:12`, `:`, `::2`."""
    assert isinstance(x, Slice)
    start, stop, step = ("" if isinstance(item, Nothing) else str(getattr(item, "number", "?")) for item in x.items)
    return f"{start}:{stop}" + (f":{step}" if step else "")


def spec_text(entries: Sequence[Entry]) -> str:
    """Return P('x', None, ('y', 'z')) from a spec's entries."""
    return f"P({', '.join(map(repr, entries))})"


def _array(x: Array, lang: str, brief: bool, numbers: str = "") -> str:
    text = _type(x)
    if x.first and not brief:
        text += f" {numbers}" if numbers else f" = {x.first}"
    if x.traced:
        return say("traced", lang, array=text)
    spec = x.placement.spec if x.placement else None
    if not x.placement:
        return text if brief else say("numpy", lang, array=text)
    if x.count == 1:
        return text if brief else say("one-device", lang, array=text, device=next(iter(x.where), 0))
    if x.placement.copies:
        return text if brief else say("copies", lang, array=text, count=x.count)
    if brief:
        return text + (f" {spec_text(spec)}" if spec is not None else "")
    if spec and any(spec):
        return say("spec", lang, array=text, spec=spec_text(spec), count=x.count)
    return say("split", lang, array=text, count=x.count)


def _type(x: Array | Struct) -> str:
    """Return the type as `f32[4, 5]`."""
    return _dtype(x.dtype) + _shape(x.shape)


def _dtype(name: str) -> str:
    word, bits = re.match(r"([a-z]+)(.*)", name).groups()  # type: ignore[union-attr]
    return SHORT[word] + bits if word in SHORT and bits.isdigit() else name


def _shape(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"
