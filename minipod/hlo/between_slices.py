"""What a TPU's program sends from slice to slice, over the data centre's network.

The compiler writes the program of one slice. What crosses is a `send` to the host's runtime, which it calls megascale,
and attributes say for which operation it is and between which devices, by their numbers: 100000 and on in the first
slice, 200000 and on in the second. An operation over both networks it has mostly divided already: what stands there is
its part between slices. Source: what libtpu 0.0.52 writes for programs on `num_slices=2` and 4.
"""

import re
from collections.abc import Sequence
from typing import Any

from minipod.hlo.groups import Groups
from minipod.hlo.text import Instruction, split
from minipod.torus import devices_of

FIRST = 100_000  # the number of the first slice's first device, and how far the slices' numbers are apart
_OPS = {
    "ALL_REDUCE": "all-reduce",
    "ALL_GATHER": "all-gather",
    "REDUCE_SCATTER": "reduce-scatter",
    "ALL_TO_ALL": "all-to-all",
    "ONE_TO_ONE": "collective-permute",
}
_EVERY = re.compile(r"\{([\d,:]+)\}x\{([\d,:]+)\}")  # {1,2}x{0:3}: slices, and the devices of each that do the same
_GROUP = re.compile(r"\{([\d,]+)\}")
_PAIR = re.compile(r"\{(\d+)->(\d+)\}")


def numbers(mesh: Any) -> list[int] | None:
    """The numbers of a mesh's devices, in its order, where they are TPUs of several slices; else None. ValueError as
    for `following`."""
    devices = devices_of(mesh)
    slices = {getattr(device, "slice_index", 0) for device in devices if getattr(device, "platform", "") == "tpu"}
    return following([device.id for device in devices]) if len(slices) > 1 else None


def following(order: Sequence[int]) -> list[int]:
    """The numbers of devices of several slices. ValueError where one slice does not follow the other: then the program
    of one is not that of the others."""
    slices = [number // FIRST for number in order]
    if slices != sorted(slices):
        raise ValueError("the slices of this mesh do not follow each other: let its first axes go over them")
    return [*order]


def begins(line: Instruction) -> bool:
    """Is it what goes to other slices?"""
    return line.opcode == "send" and is_part(line)


def is_part(line: Instruction) -> bool:
    """Does it send to other slices, receive from them, or wait for either?"""
    return line.opcode in ("send", "recv", "send-done", "recv-done") and "xla_megascale_runtime" in line.rest


def operation(line: Instruction) -> str:
    """The collective that a `send` is for. ValueError for one that is not known."""
    kind = _said(line).get("_xla_megascale_transfer_type", "")
    if kind not in _OPS:
        raise ValueError(f"what is sent between slices is {kind or 'not said'}, which is not known")
    return _OPS[kind]


def groups(line: Instruction, partitions: int, order: Sequence[int] | None) -> Groups:
    """Who works together, as positions: in `order`, the numbers of the program's devices, or sorted by number.

    partitions: devices of one slice. ValueError for a spelling that is not known, or a device that is not there.
    """
    target = _said(line).get("_xla_megascale_target", "")
    if every := _EVERY.fullmatch(target):
        slices, inside = _counted(every[1]), _counted(every[2])
        found = [[FIRST * part + device for part in slices] for device in inside]
    elif pairs := _PAIR.findall(target):
        found = [[int(number) for number in pair] for pair in pairs]
    else:
        found = [[int(number) for number in group.split(",")] for group in _GROUP.findall(target)]
    if not found:
        raise ValueError("who sends it to whom between slices is not understood")
    places = None if order is None else {number: i for i, number in enumerate(order)}
    if places is not None and not {n for group in found for n in group} <= {*places}:
        raise ValueError("it is sent to devices that the mesh does not have")
    return tuple(tuple(_place(number, partitions) if places is None else places[number] for number in g) for g in found)


def _place(number: int, partitions: int) -> int:
    return (number // FIRST - 1) * partitions + number % FIRST


def _said(line: Instruction) -> dict[str, str]:
    pairs = (part.partition("=") for part in split(line.attributes.get("frontend_attributes", "{}")[1:-1]))
    return {key: value.strip('"') for key, _, value in pairs}


def _counted(text: str) -> list[int]:
    """`1,3:5` as [1, 3, 4, 5]."""
    ends = ([int(n) for n in part.split(":")] for part in text.split(","))
    return [n for first_last in ends for n in range(first_last[0], first_last[-1] + 1)]
