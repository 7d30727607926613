"""Record what devices hold and send, step by step, while a program runs; `pictures.play` shows it.

trace = Trace(4)
trace.step("start", [["1"], ["2"], ["3"], ["4"]])
trace.step("turn 1", [["4"], ["1"], ["2"], ["3"]], moves=[Move(i, (i + 1) % 4, 0, 4) for i in range(4)])
pictures.play(trace)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minipod import traffic
from minipod.drawing.phrases import Phrase
from minipod.ranges import counted

DEVICES, CELLS, STEPS = 8, 32, 64  # the most that can be drawn: devices, cells of one, steps


@dataclass(frozen=True)
class Cell:
    """A piece of what a device holds.

    text: its label. whose: the devices whose data it contains; each gives it a colour.
    """

    text: str
    whose: tuple[int, ...] = ()


@dataclass(frozen=True)
class Move:
    """Device `source` sends cell number `place`, of `bytes` bytes, to device `target`."""

    source: int
    target: int
    place: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Step:
    """The end of a step. holds: cells of each device. moves: during the step. sent: most bytes that a device sent."""

    name: str
    holds: tuple[tuple[Cell, ...], ...]
    moves: tuple[Move, ...]
    sent: int
    said: Phrase


@dataclass
class Trace:
    """The steps of `devices` devices. across: number of cells in a line; further cells are on the lines below."""

    devices: int
    across: int = 8
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not 1 <= self.devices <= DEVICES:
            raise ValueError(f"{self.devices} devices cannot be drawn step by step: 1 to {DEVICES} can")

    def step(
        self,
        name: str,
        holds: Sequence[Sequence[Any]],
        moves: Sequence[Move] = (),
        sent: int | None = None,
        said: Phrase = "",
    ) -> None:
        """Record a step.

        name: such as "turn 1". holds: for each device, a list of `Cell`s, or of values to be shown as `str` prints
        them. moves: what was sent since the last step. sent: the bytes that a device has sent since then (default: from
        the moves). said: the step's sentence (`minipod.drawing.phrases`; default: its name). Raises ValueError for a
        step that does not fit the devices.
        """
        if len(holds) != self.devices or any(len(cells) > CELLS for cells in holds):
            raise ValueError(
                f"a step needs {counted(self.devices, 'list')}, one per device, of at most {CELLS} cells each"
            )
        if len(self.steps) == STEPS:
            raise ValueError(f"more than {STEPS} steps cannot be shown")
        if wrong := [m for m in moves if not (0 <= m.source < self.devices and 0 <= m.target < self.devices)]:
            raise ValueError(f"{wrong[0]}: there are devices 0 to {self.devices - 1}")
        each = [sum(m.bytes for m in moves if m.source == i) for i in range(self.devices)]
        cells = tuple(tuple(c if isinstance(c, Cell) else Cell(str(c)) for c in held) for held in holds)
        self.steps.append(Step(name, cells, tuple(moves), max(each) if sent is None else sent, said or ["word", name]))


def before_and_after(program: Callable[..., Any], x: Any) -> Trace:
    """Trace what each device holds of `x` and of `program(x)`, both sharded over the same devices, and what it sends.

    To find which devices' numbers are in a result, the program runs once per device, with ones on that device and zeros
    elsewhere. Raises ValueError for more than 8 devices, or more than 32 numbers on one.
    """
    old, new = _blocks(x), _blocks(program(x))
    reached = [_blocks(program(one)) for one in _ones(x)]
    bill = traffic.of(program, x)
    trace = Trace(len(old), min(8, max(map(len, old))))
    trace.step("before", [[Cell(str(v), (i,)) for v in block] for i, block in enumerate(old)],
               said=["before"])  # fmt: skip
    after = [
        [
            Cell(str(v), tuple(s for s, from_s in enumerate(reached) if from_s[i][place]))
            for place, v in enumerate(block)
        ]
        for i, block in enumerate(new)
    ]
    name = bill[0].op if len(bill) == 1 else "after"
    trace.step("after", after, sent=int(traffic.total(bill)), said=["after op", name])
    return trace


def _blocks(x: Any) -> list[Any]:
    """Return the numbers of each device, flat, the devices by their place in the sharding."""
    order = list(x.sharding.mesh.devices.flat)
    shards = {s.device: np.asarray(s.data).ravel() for s in x.addressable_shards}
    return [shards[d] for d in order]


def _ones(x: Any) -> list[Any]:
    """Arrays like `x`, for each device one that has ones there and zeros elsewhere."""
    import jax

    blocks = []
    for device in x.sharding.mesh.devices.flat:
        parts = [
            jax.device_put(np.full(s.data.shape, s.device == device, x.dtype), s.device) for s in x.addressable_shards
        ]
        blocks.append(jax.make_array_from_single_device_arrays(x.shape, x.sharding, parts))
    return blocks
