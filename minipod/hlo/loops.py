"""How often a loop of a compiled program runs: what the compiler wrote beside it, else what its counter shows.

The CPU and GPU compilers write `known_trip_count`; the TPU's does not, so there the counter is read: a state element
that starts at a constant, gets a constant added in the body, and is compared with a constant in the condition.
"""

import re
from dataclasses import dataclass

from minipod.hlo.calls import called
from minipod.hlo.text import Computation, Instruction, Program, quoted

_SCALAR = re.compile(r"(?:[su]\d+|pred)\[\]")
_KNOWN = re.compile(r'"known_trip_count":\s*\{\s*"n":\s*"?(\d+)"?')


@dataclass(frozen=True)
class Slot:
    """Element `index` of the loop's state, plus a constant."""

    index: int
    plus: int = 0


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
        left, right, direction = test.left, test.right, test.direction
        if isinstance(right, Slot) and _at(after, right.index) != Slot(right.index):
            left, right = right, left
            direction = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction)
        if isinstance(right, Slot) and _at(after, right.index) == Slot(right.index):  # a bound, carried unchanged
            bound = _at(start, right.index)
            right = bound + right.plus if isinstance(bound, int) else None
        if not isinstance(left, Slot) or not isinstance(right, int):
            return None
        first, step = _at(start, left.index), _at(after, left.index)
        if not isinstance(first, int) or not isinstance(step, Slot) or step.index != left.index or step.plus == 0:
            return None
        return _count(first + left.plus, step.plus, right, direction)

    def _result(self, name: str, arguments: tuple[Value, ...]) -> Value:
        computation = self.program.computations[name]
        return self.of(name, arguments)[computation.root.name] if computation else None

    def _value(
        self, computation: Computation, line: Instruction, values: dict[str, Value], arguments: tuple[Value, ...]
    ) -> Value:
        if not (line.shape.startswith("(") or _SCALAR.match(line.shape)):
            return None  # arrays cannot be counters
        operands = tuple(values.get(name) for name in line.operand_names)
        match line.opcode, operands:
            case "constant", _:
                return int(text) if re.fullmatch(r"-?\d+", text := line.operands[0]) else None
            case "parameter", _:
                return _at(arguments, int(i)) if (i := line.operands[0]).isdecimal() else None
            case (("copy" | "bitcast" | "convert" | "reshape"), (value,)):
                return value
            case "tuple", _:
                return operands
            case "get-tuple-element", (whole,):
                i = int(line.attributes.get("index", -1))
                return Slot(i) if whole == STATE else _at(whole, i)
            case "add", (int() as a, (int() | Slot()) as b) | ((int() | Slot()) as b, int() as a):
                return Slot(b.index, b.plus + a) if isinstance(b, Slot) else a + b
            case "subtract", ((int() | Slot()) as a, int() as b):
                return Slot(a.index, a.plus - b) if isinstance(a, Slot) else a - b
            case "compare", (a, b):
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


def _at(values: Value, i: int) -> Value:
    """Element `i` of a tuple; None where there is no tuple or no such element."""
    return values[i] if isinstance(values, tuple) and 0 <= i < len(values) else None


def _count(first: int, step: int, bound: int, direction: str) -> int | None:
    """How many of first, first + step, … come before the test against `bound` fails; None if it may never fail."""
    if direction in ("LE", "GE"):
        bound, direction = bound + (1 if direction == "LE" else -1), {"LE": "LT", "GE": "GT"}[direction]
    if direction == "NE" and (bound - first) % step == 0 and (bound - first) // step >= 0:
        return (bound - first) // step
    if (direction == "LT" and step > 0) or (direction == "GT" and step < 0):
        return max(0, -((first - bound) // step))
    return None
