"""Every layout of data, FSDP and tensor that a slice and a batch allow, the shortest step first."""

from collections.abc import Iterator
from dataclasses import dataclass

from minipod.choose.designs import design
from minipod.choose.models import Model
from minipod.pods.slices import Slice, slice_of
from minipod.roofline import Seconds
from minipod.tables import Table

__all__ = ["Choice", "choices", "said", "table"]


@dataclass(frozen=True)
class Choice:
    """A layout, of one device: bytes it holds, bytes it sends along each axis, seconds.

    data, model: sizes of the mesh axes. room: bytes that a program may have there.
    """

    name: str
    data: int
    model: int
    held: float
    room: float
    sent: dict[str, float]
    seconds: Seconds

    @property
    def fits(self) -> bool:
        return self.held <= self.room


def choices(of: Model, on: str) -> list[Choice]:
    """Every layout that the slice and the batch allow, the shortest step first among those that fit.

    on: a slice, such as v5e:8x8. ValueError, in one sentence, for a name that is none, a batch that none of the meshes
    divides, or a model that fits in no layout.
    """
    found, tried = slice_of(on), list(_meshes(slice_of(on)))
    made = [_choice(of, found, *each) for each in tried if of.rows % each[1] == 0 and of.width % each[2] == 0]
    if not made:
        sizes = ", ".join(f"data={data},model={m}" for _, data, m in tried)
        raise ValueError(f"no mesh of {on} divides {of.rows} sequences and a width of {of.width}: {sizes}")
    if not any(choice.fits for choice in made):
        least = min(made, key=lambda choice: choice.held)
        raise ValueError(
            f"{of.params:.3g} parameters fit on {on} in no layout: {least.name}, data={least.data},"
            f"model={least.model}, needs about {least.held / 1e9:,.1f} GB of a device's {least.room / 1e9:,.1f}"
        )
    return sorted(made, key=lambda choice: (not choice.fits, choice.seconds.least))


def _meshes(on: Slice) -> Iterator[tuple[str, int, int]]:
    """Each as (layout, data, model), where both axes take whole axes of the slice."""
    from minipod import torus

    n = on.devices
    if len(on.shape) > 1:
        several = torus.layouts(on.shape, on.generation.devices, ("data", "model"))
        pairs = {(each["data"], each["model"]) for each in several if each["data"] * each["model"] == n}
    else:
        pairs = {(n // m, m) for m in range(1, n + 1) if n % m == 0}
    yield "data", n, 1
    yield "FSDP", n, 1
    for data, m in sorted(pairs, reverse=True):
        if 1 < data and 1 < m:
            yield "FSDP × tensor", data, m
    if n > 1:
        yield "tensor", 1, n


def _choice(of: Model, on: Slice, name: str, data: int, m: int) -> Choice:
    found = design(of, on, **{"fsdp" if name.startswith("FSDP") else "data": data, "tensor": m})
    sent = {"data": 0.0, "model": 0.0}
    for message in found.messages:
        sent["model" if "tensor" in message.axes else "data"] += message.sent
    return Choice(name, data, m, sum(found.held.values()), found.room, sent, found.seconds)


def table(made: list[Choice]) -> Table:
    """A row for each, in GB and ms."""
    columns = (
        "layout", "data", "model", "holds", "fits", "sent: data", "model", "compute", "memory", "network",
        "bound",
    )  # fmt: skip
    return Table(columns, tuple(_row(choice) for choice in made), left=(0, 4, 10))


def said(of: Model, first: Choice, on: str) -> str:
    """What was assumed, the layout to begin with on this slice, in sentences; the last line has it compiled."""
    axes = f"data={first.data},model={first.model}"
    return (
        f"Assumed: {of.layers} layers of width {of.width}; Adam in f32, arithmetic and weights sent in bf16, gradients "
        f"in f32; layers computed again in the backward pass; each device at its peak.\n"
        f"Of those that fit the shortest: {first.name}, {axes}, {first.seconds.least:.3g} s a step at the peaks, bound "
        f"by {first.seconds.bound}.\n"
        "Held against more than 40 compiled plans: arithmetic is within 2 %; what is sent within 2 %, too, but with "
        "FSDP can be 0.5 to 1.5 times; what is held, where layers are computed again, 0.65 to 1.2 times, so leave "
        "room. What a compiler makes of it, once a function of yours gives the step and its arguments on this mesh:\n"
        f"minipod plan yours.py:program --on {on} --mesh {axes}"
    )


def _row(choice: Choice) -> tuple[str, ...]:
    spare = (choice.room - choice.held) / 1e9
    fits = f"{spare:,.1f} GB left" if choice.fits else f"no: {-spare:,.1f} GB too much"
    times = (choice.seconds.compute, choice.seconds.memory, choice.seconds.network)
    sent = (f"{choice.sent[axis] / 1e9:,.2f} GB" for axis in ("data", "model"))
    shown = (f"{1e3 * (t or 0):,.1f} ms" for t in times)
    held = f"{choice.held / 1e9:,.1f} GB"
    return choice.name, str(choice.data), str(choice.model), held, fits, *sent, *shown, choice.seconds.bound or ""
