"""List the layouts of data parallelism, FSDP and tensor parallelism that a slice and a batch allow, fastest first."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from minipod.choose.designs import CLOSE, design, refused, verdict
from minipod.choose.models import Model
from minipod.pods.slices import Slice, slice_of
from minipod.ranges import counted
from minipod.roofline import Seconds
from minipod.tables import Table

__all__ = ["Choice", "choices", "summary", "table"]

HEAD = 128  # width of an attention head, if the model's number of heads is not known
VOCABULARY = 128_256  # tokens, as in Llama 3
LOGITS = 1.3  # f32 arrays of logits that a compiled step held at once with this vocabulary


@dataclass(frozen=True)
class Choice:
    """A layout of a model on a slice. All figures are for one device.

    data, model: sizes of the mesh axes. held: bytes, from the formulas. most: bytes that a compiled step may need if
    attention writes its scores to memory and the head computes logits of `VOCABULARY` tokens. room: bytes that a
    program may use. sent: bytes sent, by mesh axis. seconds: time of a step.
    """

    name: str
    data: int
    model: int
    held: float
    most: float
    room: float
    sent: dict[str, float]
    seconds: Seconds

    @property
    def fits(self) -> bool | None:
        """Return whether the layout fits; None if only a compiled plan can tell."""
        return verdict(self.held, self.most, self.room)


def choices(of: Model, on: str) -> list[Choice]:
    """List all layouts that the slice and the batch allow.

    Those that fit come first, then those that may fit, then the others; in each group, the fastest is first.
    on: a slice, such as v5e:8x8. Raises ValueError for an unknown slice name, for a batch or width that no layout
    divides, and for a model that fits in no layout.
    """
    slice_ = slice_of(on)
    made = [_choice(of, slice_, *each) for each in _meshes(slice_) if not refused(of, slice_, _sizes(*each))]
    if not made:
        raise ValueError(f"no layout on {on} is possible: {_left_out(of, slice_)}")
    if all(choice.fits is False for choice in made):
        least = min(made, key=lambda choice: choice.held)
        why = f" (left out: {left_out})" if (left_out := _left_out(of, slice_)) else ""
        raise ValueError(
            f"{of.params:.3g} parameters do not fit on {on} in any layout of data, fsdp and tensor{why}: even "
            f"{least.name} with data={least.data},model={least.model} needs about {least.held / 1e9:,.1f} GB, but a "
            f"device has {least.room / 1e9:,.1f} GB"
        )
    return sorted(made, key=lambda choice: ((True, None, False).index(choice.fits), choice.seconds.least))


def _meshes(on: Slice) -> Iterator[tuple[str, int, int]]:
    """Yield (layout, data, model) of all layouts whose axes take whole axes of the slice."""
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


def _sizes(name: str, data: int, m: int) -> dict[str, int]:
    return {"fsdp" if name.startswith("FSDP") else "data": data, "tensor": m}


def _left_out(of: Model, on: Slice) -> str:
    """Return the layouts that the batch or the model does not allow, each with the reason."""
    each = ((name, refused(of, on, _sizes(name, *sizes))) for name, *sizes in _meshes(on))
    return "; ".join(f"{name}, because {why}" for name, why in each if why)


def _choice(of: Model, on: Slice, name: str, data: int, m: int) -> Choice:
    sizes = _sizes(name, data, m)
    layout = design(of, on, **sizes)
    scored = design(replace(of, heads=of.heads or max(1, of.width // HEAD)), on, **sizes).held
    # The logits are freed before the backward pass reaches a layer.
    inside = max(scored["inside"], LOGITS * 4 * VOCABULARY * of.tokens / on.devices)
    most = CLOSE[of.again] * (sum(scored.values()) - scored["inside"] + inside)
    sent = {"data": 0.0, "model": 0.0}
    for message in layout.messages:
        sent["model" if "tensor" in message.axes else "data"] += message.sent
    return Choice(name, data, m, sum(layout.held.values()), most, layout.room, sent, layout.seconds)


def table(made: list[Choice]) -> Table:
    """Return a table with a row for each layout, in GB and ms."""
    columns = (
        "layout", "data", "model", "holds", "fits", "sent: data", "model", "compute", "memory", "network",
        "bound",
    )  # fmt: skip
    return Table(columns, tuple(_row(choice) for choice in made), left=(0, 4, 10))


def summary(of: Model, first: Choice, on: str) -> str:
    """Return the text below the table: assumptions, a layout to start with, accuracy, and a command to compile it."""
    axes = f"data={first.data},model={first.model}"
    which = "The fastest that fits" if first.fits else "No layout is certain to fit; the fastest that may fit"
    without = f"Left out: {left_out}.\n" if (left_out := _left_out(of, slice_of(on))) else ""
    return (
        f"Assumptions: {counted(of.layers, 'layer')} of width {of.width}; Adam in f32, all else in bf16; layers "
        f"{'' if of.again else 'not '}recomputed in the backward pass; each device at its peak.\n"
        f"{without}{which}: {first.name}, {axes}, {first.seconds.least:.3g} s per step at the peaks, bound "
        f"by {first.seconds.bound}.\n"
        'The column "holds" leaves out attention scores and logits. A layout counts as fitting only if '
        f"{CLOSE[of.again]:g} times as much would fit, including these, for a vocabulary of {VOCABULARY:,} tokens.\n"
        "To compile it, let program(mesh) in yours.py return the step and its arguments, and run\n"
        f"minipod plan yours.py:program --on {on} --mesh {axes}"
    )


def _row(choice: Choice) -> tuple[str, ...]:
    spare = (choice.room - choice.held) / 1e9
    may = f"may not fit (up to {choice.most / 1e9:,.1f} GB): plan it"
    fits = {True: f"{spare:,.1f} GB left", None: may, False: f"no: {-spare:,.1f} GB too much"}[choice.fits]
    times = (choice.seconds.compute, choice.seconds.memory, choice.seconds.network)
    sent = (f"{choice.sent[axis] / 1e9:,.2f} GB" for axis in ("data", "model"))
    shown = (f"{1e3 * (t or 0):,.1f} ms" for t in times)
    held = f"{choice.held / 1e9:,.1f} GB"
    return choice.name, str(choice.data), str(choice.model), held, fits, *sent, *shown, choice.seconds.bound or ""
