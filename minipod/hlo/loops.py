"""How often a loop of a compiled program runs: what the compiler wrote beside it, else what its counter shows.

The CPU and GPU compilers write `known_trip_count`; the TPU's does not, so there the counter is read: a state element
that starts at a constant, gets a constant added in the body, and is compared in the condition with a constant, or with
another such element. Where a type on the way is too narrow for the count, so that it would wrap, it is not known.
"""

import re
from dataclasses import dataclass, replace

from minipod.hlo.calls import called
from minipod.hlo.text import Computation, Instruction, Program, quoted

_SCALAR = re.compile(r"(?:([su])(\d+)|pred)\[\]")
_KNOWN = re.compile(r'"known_trip_count":\s*\{\s*"n":\s*"?(\d+)"?')


@dataclass(frozen=True)
class Slot:
    """Element `index` of the loop's state, plus a constant, while the element is in `low` … `high`: else it wraps."""

    index: int
    plus: int
    low: int
    high: int


@dataclass(frozen=True)
class Comparison:
    """A comparison of two values, `direction` as XLA spells it: LT, LE, GT, GE, NE, EQ."""

    left: "Value"
    right: "Value"
    direction: str


STATE = "the loop's state"
Value = int | Slot | Comparison | tuple | str | None  # str: STATE; tuple: of Values; None: unknown


class Values:
    """What the instructions of a program are, as far as integers, tuples and a loop's state go."""

    def __init__(self, program: Program):
        self.program = program
        self.known: dict[tuple[str, tuple[Value, ...]], dict[str, Value]] = {}

    def of(self, name: str, arguments: tuple[Value, ...] = ()) -> dict[str, Value]:
        """The value of every instruction of the computation `name`, called with `arguments`; () where unknown."""
        key = name, arguments
        if key not in self.known:
            computation, values = self.program.computations[name], {}
            for instruction in computation.values():  # operands stand before what uses them
                values[instruction.name] = self._value(computation, instruction, values, arguments)
            self.known[key] = values
        return self.known[key]

    def trips(self, computation: Computation, loop: Instruction, here: dict[str, Value]) -> int | None:
        """How often the `while` instruction `loop`, which stands in `computation`, runs its body. None: unknown."""
        calls = called(self.program, computation, loop)
        if not len(calls.get("condition", ())) == len(calls.get("body", ())) == len(loop.operands) == 1:
            raise quoted("this loop has not one state, one condition and one body", loop.line)
        if known := _KNOWN.search(loop.rest):
            return int(known[1])
        start = here.get(loop.operand_names[0])
        after, test = self._result(calls["body"][0], (STATE,)), self._result(calls["condition"][0], (STATE,))
        if not (isinstance(start, tuple) and isinstance(after, tuple) and isinstance(test, Comparison)):
            return None
        left, right = _counter(test.left, start, after), _counter(test.right, start, after)
        if left is None or right is None:
            return None
        n = _count(left.first - right.first, left.step - right.step, test.direction)
        return n if n is not None and left.holds(n) and right.holds(n) else None

    def _result(self, name: str, arguments: tuple[Value, ...]) -> Value:
        computation = self.program.computations[name]
        return self.of(name, arguments)[computation.root.name] if computation else None

    def _value(
        self, computation: Computation, line: Instruction, values: dict[str, Value], arguments: tuple[Value, ...]
    ) -> Value:
        if line.shape.startswith("("):
            return self._exactly(computation, line, values, arguments)
        if scalar := _SCALAR.match(line.shape):
            return _typed(self._exactly(computation, line, values, arguments), *_range(scalar))
        return None  # arrays cannot be counters

    def _exactly(
        self, computation: Computation, line: Instruction, values: dict[str, Value], arguments: tuple[Value, ...]
    ) -> Value:
        """The value as if integers had no end."""
        operands = tuple(values.get(name) for name in line.operand_names)
        match line.opcode, operands:
            case "constant", _:
                return int(text) if re.fullmatch(r"-?\d+", text := "".join(line.operands)) else None
            case "parameter", _:
                return _at(arguments, int(i)) if (i := "".join(line.operands)).isdecimal() else None
            case (("copy" | "bitcast" | "convert" | "reshape"), (value,)):
                return value
            case "tuple", _:
                return operands
            case "get-tuple-element", (whole,):
                i = int(index) if (index := line.attributes.get("index", "")).isdecimal() else -1
                scalar = _SCALAR.match(line.shape)
                return Slot(i, 0, *_range(scalar)) if whole == STATE and scalar else _at(whole, i)
            case "add", (int() as a, (int() | Slot()) as b) | ((int() | Slot()) as b, int() as a):
                return replace(b, plus=b.plus + a) if isinstance(b, Slot) else a + b
            case "subtract", ((int() | Slot()) as a, int() as b):
                return replace(a, plus=a.plus - b) if isinstance(a, Slot) else a - b
            case "compare", (a, b) if "type" not in line.attributes:  # said where it is not that of the operands
                return Comparison(a, b, line.attributes.get("direction", ""))
            case (("fusion" | "call" | "fusion-start" | "call-start" | "async-start"), _):
                names = [name for names in called(self.program, computation, line).values() for name in names]
                result = self._result(names[0], operands) if len(names) == 1 else None
                return (operands, result, None) if line.opcode.endswith("-start") else result
            case (("fusion-update" | "call-update" | "async-update"), (started,)):
                return started
            case (("fusion-done" | "call-done" | "async-done"), (started,)):
                return _at(started, 1)
        return None


@dataclass(frozen=True)
class _Counter:
    """What a condition compares, turn by turn: first, first + step, … while `tested` and, in the body, `stepped` hold.

    `start` is where the state's element starts.
    """

    start: int
    tested: Slot
    stepped: Slot

    @property
    def first(self) -> int:
        return self.start + self.tested.plus

    @property
    def step(self) -> int:
        return self.stepped.plus

    def holds(self, turns: int) -> bool:
        """Does nothing wrap in so many turns? The condition is tested once more than the body runs."""
        last = self.start + turns * self.step
        ends = [(self.tested, self.start), (self.tested, last)]
        if turns:
            ends += [(self.stepped, self.start), (self.stepped, last - self.step)]
        return all(slot.low <= x <= slot.high for slot, x in ends)


def _counter(value: Value, start: tuple, after: tuple) -> _Counter | None:
    """`value`, which a condition compares, for a state that is `start` first and `after` a turn; None: unknown."""
    if isinstance(value, int):
        still = Slot(-1, 0, value, value)
        return _Counter(value, still, still)
    if not isinstance(value, Slot):
        return None
    first, step = _at(start, value.index), _at(after, value.index)
    if isinstance(first, int) and isinstance(step, Slot) and step.index == value.index:
        return _Counter(first, value, step)
    return None


def _range(scalar: re.Match[str]) -> tuple[int, int]:
    """The least and the greatest value of an integer type, as matched in a shape; of pred 0 and 1."""
    bits = int(scalar[2] or 1)
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if scalar[1] == "s" else (0, 2**bits - 1)


def _typed(value: Value, low: int, high: int) -> Value:
    """`value` in a type from `low` to `high`: a number wraps, of a counter it is noted how far it does not."""
    if isinstance(value, Slot):
        return replace(value, low=max(value.low, low - value.plus), high=min(value.high, high - value.plus))
    if not isinstance(value, int) or low <= value <= high:
        return value
    return None if high == 1 else (value - low) % (high - low + 1) + low  # what is made pred does not wrap


def _at(values: Value, i: int) -> Value:
    """Element `i` of a tuple; None where there is no tuple or no such element."""
    return values[i] if isinstance(values, tuple) and 0 <= i < len(values) else None


def _count(first: int, step: int, direction: str) -> int | None:
    """How many of first, first + step, … are LT 0 (or LE, …) before one is not; None if that may never be."""
    if direction in ("GT", "GE"):
        first, step, direction = -first, -step, {"GT": "LT", "GE": "LE"}[direction]
    if direction == "LE":
        first, direction = first - 1, "LT"
    match direction:
        case "LT" if first >= 0:
            return 0
        case "LT" if step > 0:
            return -(first // step)
        case "NE" if first == 0:
            return 0
        case "NE" if step and first % step == 0 and -first // step > 0:
            return -first // step
        case "EQ" if first != 0:
            return 0
        case "EQ" if step:
            return 1
    return None
