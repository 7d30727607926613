"""Draw the flow of data through a mapped function: which data are split, copied and stacked."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from minipod.drawing.phrases import alt_text, few
from minipod.drawing.svg import Canvas, Picture, text_width
from minipod.ranges import counted

MOST = 8  # rows; more devices are drawn as the first ones, an ellipsis and the last
HIGH, ARROW = 34.0, 40.0  # the height of a row; the room for arrows between two columns


@dataclass
class Stream:
    """An argument or the output: its name, and its type, such as `float32[8,4,3]`, or the number of its arrays."""

    name: str
    kind: str

    def short(self) -> str:
        """Return the shape alone, for a narrow column."""
        return self.kind[self.kind.find("[") :] if "[" in self.kind else self.kind


def flow(function: Callable[..., Any], *arguments: Any, in_axes: Any = 0, axis_name: str | None = None) -> Picture:
    """Draw how `jax.pmap(function, in_axes=in_axes)(*arguments)` splits, copies and stacks data. Nothing is computed.

    arguments: arrays, ShapeDtypeStructs or pytrees of them. in_axes: a number for an argument that is split along that
    axis, one part per device; None for one that is copied to every device; a pytree of both shows as both. axis_name:
    the name that collectives in `function` use.
    Raises ValueError if in_axes does not fit the arguments, or nothing is split.
    """
    axes = list(in_axes) if isinstance(in_axes, (tuple, list)) else [in_axes] * len(arguments)
    if not arguments:
        raise ValueError("flow(function, *arguments) needs at least one argument")
    if len(axes) != len(arguments):
        given = counted(len(arguments), "argument")
        raise ValueError(f"in_axes has length {len(axes)} for {given}: give one entry for each argument")
    split: list[Stream] = []
    copied: list[Stream] = []
    sizes: set[int] = set()
    for name, axis, argument in zip(_names(function, len(arguments)), axes, arguments, strict=True):
        mapped = _mapped(name, axis, argument)
        for leaf, at in mapped:
            if not -len(leaf.shape) <= at < len(leaf.shape):
                raise ValueError(f"{name} has shape {tuple(leaf.shape)}: there is no dimension {at} to split it along")
            sizes.add(leaf.shape[at])
        if mapped:
            split.append(Stream(name, _kind([leaf for leaf, _ in mapped])))
        if len(mapped) < len(jax.tree.leaves(argument)):
            copied.append(Stream(name, _kind(argument)))
    if not split:
        raise ValueError("in_axes splits no argument: at least one must be split")
    if len(sizes) != 1:
        raise ValueError(f"the split dimensions differ in size {sorted(sizes)}: each must equal the number of devices")
    out = jax.eval_shape(jax.vmap(function, in_axes=in_axes, axis_name=axis_name), *arguments)
    title = getattr(function, "__name__", "f")
    return _draw("f" if title == "<lambda>" else title, _devices(sizes.pop()), split, copied, Stream("out", _kind(out)))


def _devices(count: int) -> list[int]:
    """Return the ids of the devices that pmap would take; 0, 1, … if this process has too few."""
    local = jax.local_devices()
    return [d.id for d in local[:count]] if count <= len(local) else list(range(count))


def _mapped(name: str, axis: Any, argument: Any) -> list[tuple[Any, int]]:
    """Return the leaves of `argument` that are split, each with its axis; `axis` is a prefix tree of it."""
    try:
        full = jax.tree.broadcast(axis, argument, is_leaf=lambda a: a is None)
    except ValueError:
        raise ValueError(f"the entry of in_axes for {name} does not have the structure of {name}: {axis!r}") from None
    pairs = zip(jax.tree.leaves(argument), jax.tree.leaves(full, is_leaf=lambda a: a is None), strict=True)
    return [(leaf, at) for leaf, at in pairs if at is not None]


def _names(function: Callable[..., Any], count: int) -> list[str]:
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    return names[:count] if len(names) >= count else [f"x{i}" for i in range(count)]


def _kind(value: Any) -> str:
    """`float32[8,4]` for one array, the number of arrays for a tree."""
    leaves = jax.tree.leaves(value)
    if len(leaves) == 1:
        return f"{leaves[0].dtype}[{','.join(map(str, leaves[0].shape))}]"
    return f"{len(leaves)} arrays"


def _width(labels: list[str], least: float) -> float:
    return max([least, *(text_width(w, 12, True) + 14 for w in labels)])


def _draw(named: str, ids: list[int], split: list[Stream], copied: list[Stream], out: Stream) -> Picture:
    """Left: the split arguments, a cell a device; middle: the devices; right: the outputs; above: what is copied."""
    canvas, last = Canvas(), len(ids) - 1
    part = _width([f"{s.name}[{last}]" for s in split] + [s.short() for s in split], 58.0)
    chip = _width([s.name for s in copied], 0.0)
    result = _width([f"out[{last}]", out.short()], 58.0)
    label = text_width(f"device {max(ids)}") + 14
    inner = label + sum(chip + 6 for _ in copied) + text_width(named, 12, True) + 12
    left = len(split) * (part + 6) - 6
    middle, right = left + ARROW, left + ARROW + inner + ARROW
    top = 56.0
    if copied:
        boxes = len(copied) * (chip + 10 + 8) - 8
        for i, s in enumerate(copied):
            x = middle + (inner - boxes) / 2 + i * (chip + 18)
            canvas.rect(x, 0, chip + 10, HIGH, "tint copy")
            canvas.text(x + (chip + 10) / 2, HIGH / 2, s.name, "code")
        top = HIGH + 46
        canvas.arrow([(middle + inner / 2, HIGH + 3), (middle + inner / 2, top - 3)])
        canvas.text(middle + inner / 2 + 9, (HIGH + top) / 2 - 1, "copied", "small soft", "start")
    heads = [(i * (part + 6) + part / 2, s, "split") for i, s in enumerate(split)]
    for x, s, word in [*heads, (right + result / 2, out, "stacked")]:
        canvas.text(x, top - 43, s.name, "code strong")
        canvas.text(x, top - 26, s.short(), "code soft")
        canvas.text(x, top - 8, word, "small soft")
    rows = few(len(ids), MOST)
    canvas.rect(middle - 8, top, inner + 16, len(rows) * (HIGH + 8) + 8, "box", 8)
    for j, k in enumerate(rows):
        y = top + 8 + j * (HIGH + 8)
        mid = y + HIGH / 2
        if k is None:
            for x in (left / 2, middle + inner / 2, right + result / 2):
                canvas.text(x, mid, "…", "soft")
            continue
        for i, s in enumerate(split):
            canvas.shard(i * (part + 6), y, part, HIGH, k)
            canvas.text(i * (part + 6) + part / 2, mid, f"{s.name}[{k}]", "code on")
        canvas.arrow([(left + 3, mid), (middle - 1, mid)])
        canvas.rect(middle, y, inner, HIGH, "tint device")
        canvas.text(middle + 9, mid, f"device {ids[k]}", "", "start")
        for i, s in enumerate(copied):
            canvas.rect(middle + label + i * (chip + 6), y + 6, chip, HIGH - 12, "tint copy", 3)
            canvas.text(middle + label + i * (chip + 6) + chip / 2, mid, s.name, "code")
        canvas.text(middle + inner - 9, mid, named, "code", "end")
        canvas.arrow([(middle + inner + 2, mid), (right - 3, mid)])
        canvas.shard(right, y, result, HIGH, k)
        canvas.text(right + result / 2, mid, f"out[{k}]", "code on")
    sentences = [["split", len(ids), s.name, ["word", s.kind]] for s in split]
    sentences += [["copied", s.name, ["word", s.kind]] for s in copied]
    return canvas.picture(alt_text("flow", ["flow", named, ["list", *sentences, ["stacked", ["word", out.kind]]]]))
