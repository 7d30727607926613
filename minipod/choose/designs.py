"""Evaluate formulas for a training step of a model sharded along up to six mesh axes: bytes held, bytes sent, time.

data, fsdp, expert and sequence divide the batch, sequence along its length. fsdp divides all weights, tensor the heads
and hidden units, expert the experts, stage the layers. Nothing is compiled; `minipod plan` compiles a layout.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import prod
from typing import Any

from minipod import torus
from minipod.chips import CHIPS, Chip
from minipod.choose.models import ROOM, Model
from minipod.hlo.groups import rows
from minipod.hlo.ops import Collective, ring_bytes
from minipod.pods.slices import Slice, slice_of
from minipod.ranges import counted
from minipod.roofline import Seconds, compute_seconds, memory_seconds
from minipod.traffic import time_model

__all__ = ["AXES", "CLOSE", "Design", "Message", "Pace", "design", "laid", "pace"]

AXES = ("data", "stage", "fsdp", "expert", "sequence", "tensor")  # outermost first: data crosses slices, tensor never
TOUCHED = 20  # how often a layer's input and `Model.inside` are read or written in a step, from plans
SCORED = 9  # how often attention scores are, if they are written to memory
SCORES = 1.5  # arrays of scores held at once: one in f32, and their softmax in bf16
CLOSE = {True: 1.3, False: 1.35}  # by Model.again: plans held at most 1.22 and 1.27 times this sum and the batch
BIG = 10**15  # bytes, for which the time of a start is negligible


@dataclass(frozen=True)
class Pace:
    """The speed of a collective along some axes. each: seconds per byte of its array. least: seconds for 0 bytes.

    known: False if these are lower bounds, because the groups are not boxes of the torus.
    """

    each: float
    least: float
    known: bool = True


@dataclass(frozen=True)
class Message:
    """One kind of collective in a step.

    name: "weights", "gradients", "sums", "keys", "tokens" or "handed on". bytes: size of the array of one collective,
    as `minipod.hlo.ops.Collective` counts them. times: how often it runs in a step. sent: total bytes that a device
    sends in a step. seconds: total time of these collectives in a step. known: as in `Pace`.
    """

    name: str
    op: str
    axes: tuple[str, ...]
    bytes: float
    times: int
    sent: float
    seconds: float
    known: bool


@dataclass(frozen=True)
class Design:
    """A layout of a model on a slice. All figures are for one device.

    sizes: size of each of `AXES`. held: bytes, by what they hold. most: bytes that a compiled step may need (`CLOSE`).
    room: bytes that a program may use. messages: the collectives of a step. seconds: time of a step.
    """

    sizes: Mapping[str, int]
    held: Mapping[str, float]
    most: float
    room: float
    messages: tuple[Message, ...]
    seconds: Seconds

    @property
    def fits(self) -> bool | None:
        """Return whether the layout fits; None if only a plan can tell."""
        return verdict(sum(self.held.values()), self.most, self.room)

    @property
    def sent(self) -> float:
        """Return the bytes that a device sends in a step."""
        return sum(message.sent for message in self.messages)


def design(of: Model, on: Slice | str, **sizes: int) -> Design:
    """Evaluate the layout of a model with these sizes of mesh axes; axes of `AXES` that are not named have size 1.

    on: a slice or its name. Raises ValueError for sizes that the slice or the model does not allow.
    """
    slice_ = slice_of(on) if isinstance(on, str) else on
    every = {axis: sizes.get(axis, 1) for axis in AXES}
    if wrong := refused(of, slice_, sizes):
        raise ValueError(wrong)
    chip = CHIPS[slice_.generation.chip]
    messages = tuple(
        _message(*each, pace(str(slice_), tuple(every.values()), each[1], each[2]))
        for each in _messages(of, every, slice_)
    )
    seconds = Seconds(
        _compute(of, every, chip), memory_seconds(_moved(of, every), chip), sum(m.seconds for m in messages)
    )
    held = _held(of, every)
    most = CLOSE[of.again] * sum(held.values())
    return Design(every, held, most, slice_.generation.limit * 2**30, messages, seconds)


def verdict(held: float, most: float, room: float) -> bool | None:
    """Return whether a layout fits that holds `held` bytes by the formulas and may need `most`; None: perhaps."""
    return None if held <= room < most else held <= room


def refused(of: Model, on: Slice, sizes: dict[str, int]) -> str:
    """Return why there is no such layout, in a sentence; "" if there is. sizes: as `design` takes them."""
    sizes = dict.fromkeys(AXES, 1) | sizes
    if other := [axis for axis in sizes if axis not in AXES]:
        return f"no axis is called {other[0]}: choose from {', '.join(AXES)}"
    if prod(sizes.values()) != on.devices:
        return f"{on} has {counted(on.devices, 'device')}, but the product of the axes is {prod(sizes.values())}"
    rows = sizes["data"] * sizes["fsdp"] * sizes["expert"]
    if of.rows % rows:
        sequences = counted(of.rows, "sequence")
        return f"{sequences} cannot be divided evenly among {rows} devices (data × fsdp × expert)"
    for axis, what, number in (
        ("sequence", "tokens of a sequence", of.length),
        ("stage", "layers", of.layers),
        ("tensor", "heads of keys and values" if of.groups else "features of a layer", of.groups or of.width),
        ("fsdp", "features of a layer", of.width),
        ("expert", "experts", of.experts),
    ):
        if sizes[axis] > 1 and not number:
            return f"{axis}={sizes[axis]} needs a model with {what}"
        if number % sizes[axis]:
            return f"{axis}={sizes[axis]} does not divide {number} {what}"
    return ""


def of_fsdp(on: Slice, fsdp: int) -> tuple[str, str]:
    """Return the collectives along an fsdp axis of size `fsdp`: one gathers the weights, one sums the gradients.

    If fsdp takes a whole TPU slice, libtpu 0.0.52 replaces the reduce-scatter with an all-reduce, which sends twice as
    much, on squares of at least 4 × 4 and on boxes of at least 2 × 2 × 2; with 64 chips or more on a box, it replaces
    the all-gather, too. Seen for weights of 128 MB on slices of v4, v5e, v5p and v6e; 7x is untested.
    """
    gather, scatter = "all-gather", "reduce-scatter"
    if fsdp == on.devices == on.chips and on.count == 1:
        if len(on.shape) == 3 and min(on.shape) > 1:
            return "all-reduce" if on.chips >= 64 else gather, "all-reduce"
        if len(on.shape) == 2 and on.shape[0] == on.shape[1] >= 4:
            return gather, "all-reduce"
    return gather, scatter


def _messages(of: Model, by: dict[str, int], on: Slice) -> Iterator[tuple[str, str, tuple[str, ...], float, int]]:
    """Yield (name, op, axes, bytes of the array, times) of each kind of collective."""
    layers, ticks, micro = _pipeline(of, by)
    dense, spread = (n / of.layers / by["tensor"] for n in (of.params - of.spread, of.spread / by["expert"]))
    fsdp, again = by["fsdp"], int(of.again)
    if fsdp > 1:  # with stages, the weights of the forward pass are gathered before the first tick, and kept
        gather, scatter = of_fsdp(on, fsdp)
        yield "weights", gather, ("fsdp",), of.weight * (dense + spread), layers * (1 + ticks)
        yield "gradients", scatter, ("fsdp",), of.gradient * (dense + spread), layers * ticks
    for part, over in ((dense, ("data", "expert", "sequence")), (spread, ("data", "sequence"))):
        if axes := tuple(axis for axis in over if by[axis] > 1 and part):
            yield "gradients", "all-reduce", axes, of.gradient * part / fsdp, layers * ticks
    activation = _width(of, by) / micro
    if by["tensor"] > 1:
        yield "sums", "all-reduce", ("tensor",), activation, (of.sums + again * (of.sums // 2 - 1)) * layers * ticks
    if by["sequence"] > 1:
        keys = of.kv * activation * by["sequence"] / by["tensor"]
        yield "keys", "all-gather", ("sequence",), keys, (1 + again) * layers * ticks
        yield "keys", "reduce-scatter", ("sequence",), keys, layers * ticks
    if by["expert"] > 1:
        yield "tokens", "all-to-all", ("expert",), of.each * ROOM * activation, (4 + 2 * again) * layers * ticks
    if by["stage"] > 1:
        yield "handed on", "collective-permute", ("stage",), activation, 2 * ticks


def _pipeline(of: Model, by: Mapping[str, int]) -> tuple[int, int, int]:
    """Return the layers of a stage, the ticks and the microbatches: with stages, one for each sequence of a device."""
    micro = of.rows // (by["data"] * by["fsdp"] * by["expert"]) if by["stage"] > 1 else 1
    return of.layers // by["stage"], micro + by["stage"] - 1, micro


def _message(name: str, op: str, axes: tuple[str, ...], size: float, times: int, at: tuple[Pace, int]) -> Message:
    speed, n = at
    sent = float(ring_bytes(op, round(size), n)) if op != "collective-permute" else size
    seconds = max(speed.each * size, speed.least) * times
    return Message(name, op, axes, size, times, sent * times, seconds, speed.known)


def _width(of: Model, by: Mapping[str, int]) -> float:
    """Return the bytes of one activation of a device, [tokens, width]."""
    cut = by["data"] * by["fsdp"] * by["expert"] * by["sequence"]
    return of.tokens / cut * of.width * of.weight


def _own(of: Model, by: Mapping[str, int]) -> float:
    """Return the parameters of a device before fsdp divides them."""
    return (of.params - of.spread + of.spread / by["expert"]) / by["tensor"] / by["stage"]


def _scores(of: Model, by: Mapping[str, int]) -> float:
    """Return the bytes of one layer's attention scores, f32, if they are written to memory."""
    cut = by["data"] * by["fsdp"] * by["expert"] * by["sequence"] * by["tensor"]
    return 4.0 * of.heads * of.tokens * of.length / cut


def _held(of: Model, by: Mapping[str, int]) -> dict[str, float]:
    """Return bytes by what they hold: the optimizer's state; gradients (with stages, the sum and those of one tick);
    the copy of the weights for arithmetic; the gathered weights of one layer (with stages, of all), whose room its
    gradient takes before it is scattered; the input of each layer (with stages, for every tick); and the activations
    inside one layer, or inside all if none is recomputed.
    """
    layers, ticks, micro = _pipeline(of, by)
    params, whole = _own(of, by) / by["fsdp"], _own(of, by) if by["fsdp"] > 1 else 0.0
    keys = of.kv * by["sequence"] if by["sequence"] > 1 else 0  # of whole sequences
    inside = ((of.inside + keys) / by["tensor"] + of.whole) * _width(of, by) + SCORES * _scores(of, by)
    return {
        "state": of.state * params,
        "gradients": of.gradient * params * (2 if by["stage"] > 1 else 1),
        "copy": of.weight * params if of.weight < 4 < of.state else 0.0,
        "gathered": of.weight * whole / (1 if by["stage"] > 1 else layers),
        "inputs": layers * _width(of, by) * ticks / micro,
        "inside": inside / micro * (1 if of.again else layers),
    }


def _moved(of: Model, by: Mapping[str, int]) -> float:
    """Return the bytes to and from memory. Weights are read three times, forward and for both products of the backward
    pass, and written twice if they are gathered; the state is read and written; activations and scores count, too."""
    layers, ticks, micro = _pipeline(of, by)
    params, idle = _own(of, by), ticks / micro
    weights = (5 if by["fsdp"] > 1 else 3) * of.weight * params * ticks
    inside = TOUCHED * (1 + of.inside / by["tensor"]) * _width(of, by) + SCORED * _scores(of, by)
    return weights + 2 * of.state * params / by["fsdp"] + layers * idle * inside


def _compute(of: Model, by: Mapping[str, int], chip: Chip) -> float:
    """Return the seconds of arithmetic: two FLOPs for each parameter and token, and those of attention, once forward,
    twice backward, and once more if layers are recomputed. Idle ticks of a stage count: its devices wait or compute in
    vain.
    """
    forward = 2 * of.used + 4 * of.layers * of.width * of.length * (of.length > 1)
    whole = (4 * forward - 2 * of.last * of.params) if of.again else 3 * forward
    _, ticks, micro = _pipeline(of, by)
    return compute_seconds({"bf16": whole * of.tokens / prod(by.values()) * ticks / micro}, chip)


@cache
def pace(on: str, sizes: tuple[int, ...], op: str, axes: tuple[str, ...]) -> tuple[Pace, int]:
    """Return a collective's speed along `axes`, and the number of devices in a group. sizes: of `AXES`, in order."""
    mesh, link, shape = laid(on, sizes)
    groups = rows(dict(zip(AXES, sizes, strict=True)), axes)
    if op == "collective-permute":  # the last stage sends nothing
        groups = tuple(pair for row in groups for pair in pairwise(row))
    many, why = time_model.estimate(Collective(op, groups, BIG, 1, axes), link, mesh, shape)
    least, _ = time_model.estimate(Collective(op, groups, 0, 1, axes), link, mesh, shape)
    return Pace(many / BIG, least, not why), prod(sizes[AXES.index(axis)] for axis in axes)


@cache
def laid(on: str, sizes: tuple[int, ...]) -> tuple[dict[str, int], Any, torus.Torus | None]:
    """Return the sizes of the mesh of `AXES` on a slice, its link, and the torus on which it lies (None for GPUs)."""
    from minipod.pods import absent

    mesh = absent.mesh(on, **dict(zip(AXES, sizes, strict=True)))
    link = CHIPS[slice_of(on).generation.chip].carrier
    return dict(mesh.shape), link, torus.torus_of(mesh, link.closes) if link.shape == "torus" else None
