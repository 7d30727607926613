"""Which layout for a model of which only a few numbers are known: what each holds, sends and takes on a slice.

By formulas alone, nothing is compiled. `tests/minipod/test_choose.py` holds them against 18 plans of TPUs that were
compiled: arithmetic and bytes sent are within 1 %, unless the compiler sends in another way (an all-reduce for FSDP's
reduce-scatters: up to twice these bytes; f32 weights gathered in bf16: two thirds of them) or does more than it must
(chapter 17's two steps of FSDP, whose forward pass stands twice in the program: the formulas have 0.8 times its
arithmetic and its bytes); bytes held are 0.5 to 1.3 times those of the plan, the memory's time 0.7 to 2 times, in two
small programs 3 and 5. What is close is for `minipod plan`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from minipod.chips import CHIPS, Chip
from minipod.hlo.ops import Collective
from minipod.pods.slices import Slice, slice_of
from minipod.roofline import Seconds, compute_seconds, memory_seconds
from minipod.tables import Table

__all__ = ["Choice", "Model", "choices", "model", "said", "table"]

WIDE = 128  # a width for each layer, as in models that are published: 4096 for 32, 8192 for 64
TOUCHED = 20  # times that a layer's activations are read or written in a step, as chapter 15's plans have it


@dataclass(frozen=True)
class Model:
    """A transformer in training, of `layers` equal layers; bf16 is computed with, and Adam keeps f32.

    rows, length: sequences of the whole batch, and tokens of each. sums: all-reduces of activations for a layer and a
    step where its matrices are cut: two forward, two back. weight, gradient: bytes of each as it is sent. state: bytes
    for each parameter that last from step to step: of the parameter itself and of Adam's two averages. inside: what a
    layer computes for a token beside its input, in widths: queries, keys, values, heads, hidden units; cut along
    "model". again: it is not kept but computed again in the backward pass.
    """

    params: float
    layers: int
    width: int
    rows: int
    length: int
    sums: int = 4
    weight: int = 2
    gradient: int = 4
    state: int = 12
    inside: float = 16
    again: bool = True

    @property
    def tokens(self) -> int:
        return self.rows * self.length


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


def model(params: float, rows: int, length: int, layers: int | None = None, width: int | None = None) -> Model:
    """With layers and width as usual for so many parameters, where they are not given. ValueError for what is none."""
    for name, value in {"params": params, "batch": rows, "seq": length, "layers": layers, "width": width}.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name} {value:g}: a positive number is needed")
    if layers is None:
        layers = max(1, round((params / 12 / width**2) if width else (params / 12 / WIDE**2) ** (1 / 3)))
    return Model(params, layers, width or max(WIDE, round((params / 12 / layers) ** 0.5 / WIDE) * WIDE), rows, length)


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
    from minipod import traffic
    from minipod.pods import absent

    chip, cut = CHIPS[on.generation.chip], data if name.startswith("FSDP") else 1
    mesh = absent.mesh(str(on), data=data, model=m)
    collectives = list(_collectives(of, data, m, cut > 1))
    network = traffic.at_least(collectives, chip.carrier, mesh).seconds
    sent = {"data": 0.0, "model": 0.0}
    for c in collectives:
        sent[(c.axes or ("",))[0]] += c.sent or 0
    seconds = Seconds(_compute(of, on, chip), memory_seconds(_moved(of, data, m, cut), chip), network)
    room = on.generation.limit * 2**30
    return Choice(name, data, m, _held(of, data, m, cut), room, sent, seconds)


def _held(of: Model, data: int, m: int, cut: int) -> float:
    """The state, gradients, a copy of the weights that is computed with, and what is kept for the backward pass."""
    copy = of.weight if of.state > of.weight else 0
    own = (of.state + of.gradient + copy) * of.params / m / cut
    whole = of.weight * of.params / of.layers / m if cut > 1 else 0  # one layer's, gathered
    widths = of.layers + of.inside / m * (1 if of.again else of.layers)
    return own + whole + widths * _width(of, data)


def _width(of: Model, data: int) -> float:
    """The bytes of one activation, f32 or bf16[tokens of a device, width]."""
    return of.tokens / data * of.width * of.weight


def _moved(of: Model, data: int, m: int, cut: int) -> float:
    """Weights are read three times, forward and for both products of the backward pass, and written where they are
    gathered; the state is read and written; and the activations."""
    weights = (5 if cut > 1 else 3) * of.weight * of.params / m
    activations = TOUCHED * of.layers * (1 + of.inside / m) * _width(of, data)
    return weights + 2 * of.state * of.params / m / cut + activations


def _compute(of: Model, on: Slice, chip: Chip) -> float:
    """Two operations for a parameter and token, and those of attention; forward, twice back, and where it is again."""
    each = 2 * of.params + 4 * of.layers * of.width * of.length * (of.length > 1)
    return compute_seconds({"bf16": (4 if of.again else 3) * each * of.tokens / on.devices}, chip)


def _collectives(of: Model, data: int, m: int, fsdp: bool) -> Iterator[Collective]:
    rows = [[d * m + i for i in range(m)] for d in range(data)]
    columns: Any = tuple(map(tuple, zip(*rows, strict=True)))
    part = of.params / m / of.layers
    if data > 1 and fsdp:
        yield Collective("all-gather", columns, round(of.weight * part), 2 * of.layers, ("data",))
        yield Collective("reduce-scatter", columns, round(of.gradient * part), of.layers, ("data",))
    elif data > 1:
        yield Collective("all-reduce", columns, round(of.gradient * part), of.layers, ("data",))
    if m > 1:
        size = of.weight * of.tokens // data * of.width
        yield Collective("all-reduce", tuple(map(tuple, rows)), size, of.sums * of.layers, ("model",))


def table(made: list[Choice]) -> Table:
    """A row for each, in GB and ms."""
    columns = (
        "layout", "data", "model", "holds", "fits", "sent: data", "model", "compute", "memory", "network",
        "bound",
    )  # fmt: skip
    return Table(columns, tuple(_row(choice) for choice in made), left=(0, 4, 10))


def said(of: Model, first: Choice) -> str:
    """What was assumed, and the layout to begin with, in sentences."""
    axes = f"data={first.data},model={first.model}"
    return (
        f"Assumed: {of.layers} layers of width {of.width}; Adam in f32, arithmetic and weights sent in bf16, gradients "
        f"in f32; layers computed again in the backward pass; each device at its peak.\n"
        f"Of those that fit the shortest: {first.name}, {axes}, {first.seconds.least:.3g} s a step at the peaks, bound "
        f"by {first.seconds.bound}. `minipod plan` says what a compiler makes of it.\n"
        "Held against 18 compiled plans: arithmetic within 1 %, in two 0.8 times the compiler's; what is sent within 1 "
        "%, too, but for FSDP alone 0.5 to 1.5 times; what is held 0.5 to 1.3 times, so leave room."
    )


def _row(choice: Choice) -> tuple[str, ...]:
    spare = (choice.room - choice.held) / 1e9
    fits = f"{spare:,.1f} GB left" if choice.fits else f"no: {-spare:,.1f} GB too much"
    times = (choice.seconds.compute, choice.seconds.memory, choice.seconds.network)
    sent = (f"{choice.sent[axis] / 1e9:,.2f} GB" for axis in ("data", "model"))
    shown = (f"{1e3 * (t or 0):,.1f} ms" for t in times)
    held = f"{choice.held / 1e9:,.1f} GB"
    return choice.name, str(choice.data), str(choice.model), held, fits, *sent, *shown, choice.seconds.bound or ""
