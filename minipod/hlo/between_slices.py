"""Read the collectives in a TPU's program that cross the data centre's network from slice to slice.

The compiler writes the program of one slice. Data for other slices goes through a `send` to the host's runtime, called
megascale. Its attributes give the operation and the devices, by numbers: from 100000 in the first slice, from 200000 in
the second. A collective over both networks is usually split already, and the `send` is its part between slices.
Source: the texts that libtpu 0.0.52 writes for `num_slices=2` and 4.
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
_EVERY = re.compile(r"\{([\d,:]+)\}x\{([\d,:]+)\}")  # {1,2}x{0:3}: slices, and the devices of each
_GROUP = re.compile(r"\{([\d,]+)\}")
_PAIR = re.compile(r"\{(\d+)->(\d+)\}")


def numbers(mesh: Any) -> list[int] | None:
    """Return the numbers of a mesh's devices, in the mesh's order, if they are TPUs of several slices; else None.

    Raises the same ValueError as `following`.
    """
    devices = devices_of(mesh)
    slices = {getattr(device, "slice_index", 0) for device in devices if getattr(device, "platform", "") == "tpu"}
    return following([device.id for device in devices]) if len(slices) > 1 else None


def following(order: Sequence[int]) -> list[int]:
    """Return `order` as a list. Raises ValueError if it mixes the slices, whose programs then differ."""
    slices = [number // FIRST for number in order]
    if slices != sorted(slices):
        raise ValueError("this mesh mixes the devices of its slices: let its first axes cross the slices")
    return [*order]


def begins(line: Instruction) -> bool:
    """Return whether an instruction sends to other slices."""
    return line.opcode == "send" and is_part(line)


def is_part(line: Instruction) -> bool:
    """Return whether an instruction sends to other slices, receives from them, or waits for either."""
    return line.opcode in ("send", "recv", "send-done", "recv-done") and "xla_megascale_runtime" in line.rest


def operation(line: Instruction) -> str:
    """Return the operation to which a `send` belongs. Raises ValueError for an unknown operation."""
    kind = _frontend_attributes(line).get("_xla_megascale_transfer_type", "")
    if kind not in _OPS:
        raise ValueError(f"a transfer between slices has {f'the unknown type {kind}' if kind else 'no type'}")
    return _OPS[kind]


def groups(line: Instruction, partitions: int, order: Sequence[int] | None) -> Groups:
    """Return the groups, as positions in `order`, the numbers of the program's devices; by default these are sorted.

    partitions: number of devices in a slice. Raises ValueError for an unknown spelling, or a device not in `order`.
    """
    target = _frontend_attributes(line).get("_xla_megascale_target", "")
    if every := _EVERY.fullmatch(target):
        slices, inside = _counted(every[1]), _counted(every[2])
        by_number = [[FIRST * part + device for part in slices] for device in inside]
    elif pairs := _PAIR.findall(target):
        by_number = [[int(number) for number in pair] for pair in pairs]
    else:
        by_number = [[int(number) for number in group.split(",")] for group in _GROUP.findall(target)]
    if not by_number:
        raise ValueError("source and target of a transfer between slices are not understood")
    places = None if order is None else {number: i for i, number in enumerate(order)}
    if places is not None and not {n for group in by_number for n in group} <= {*places}:
        raise ValueError("it is sent to devices that the mesh does not have")
    return tuple(
        tuple(_place(number, partitions) if places is None else places[number] for number in g) for g in by_number
    )


def _place(number: int, partitions: int) -> int:
    return (number // FIRST - 1) * partitions + number % FIRST


def _frontend_attributes(line: Instruction) -> dict[str, str]:
    pairs = (part.partition("=") for part in split(line.attributes.get("frontend_attributes", "{}")[1:-1]))
    return {key: value.strip('"') for key, _, value in pairs}


def _counted(text: str) -> list[int]:
    """Return [1, 3, 4, 5] for `1,3:5`."""
    ends = ([int(n) for n in part.split(":")] for part in text.split(","))
    return [n for first_last in ends for n in range(first_last[0], first_last[-1] + 1)]
