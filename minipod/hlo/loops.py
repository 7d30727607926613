"""How often a loop of a compiled program runs: what the compiler wrote beside it, else what its counter shows.

The CPU and GPU compilers write `known_trip_count`; the TPU's does not, so there the counter is read: a state element
that starts at a constant, gets a constant added in the body, and is compared with a constant in the condition.
"""

import re
from dataclasses import dataclass

from minipod.hlo.text import Computation, Instruction, Program

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


def trips(program: Program, computation: Computation, loop: Instruction) -> int | None:
    """How often the `while` instruction `loop`, which stands in `computation`, runs its body. None: unknown."""
    if known := _KNOWN.search(loop.rest):
        return int(known[1])
    (condition,), (body,) = loop.called("condition"), loop.called("body")
    start = _value(program, computation, loop.operands[0], ())
    after = _result(program, body, (STATE,))
    test = _result(program, condition, (STATE,))
    if not (isinstance(start, tuple) and isinstance(after, tuple) and isinstance(test, Comparison)):
        return None
    left, right, direction = test.left, test.right, test.direction
    if isinstance(right, Slot) and after[right.index] != Slot(right.index):
        left, right = right, left
        direction = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction)
    if isinstance(right, Slot) and after[right.index] == Slot(right.index):  # a bound that is carried unchanged
        base = start[right.index]
        right = base + right.plus if isinstance(base, int) else None
    if not isinstance(left, Slot) or not isinstance(right, int):
        return None
    first, step = start[left.index], after[left.index]
    if not isinstance(first, int) or not isinstance(step, Slot) or step.index != left.index or step.plus == 0:
        return None
    return _count(first + left.plus, step.plus, right, direction)


def _count(first: int, step: int, bound: int, direction: str) -> int | None:
    """How many of first, first + step, … come before the test against `bound` fails; None if it may never fail."""
    if direction in ("LE", "GE"):
        bound, direction = bound + (1 if direction == "LE" else -1), {"LE": "LT", "GE": "GT"}[direction]
    if direction == "NE" and (bound - first) % step == 0 and (bound - first) // step >= 0:
        return (bound - first) // step
    if (direction == "LT" and step > 0) or (direction == "GT" and step < 0):
        return max(0, -((first - bound) // step))
    return None


def _result(program: Program, name: str, arguments: tuple[Value, ...]) -> Value:
    computation = program.computations[name]
    return _value(program, computation, computation.root.name, arguments)


def _value(program: Program, computation: Computation, operand: str, arguments: tuple[Value, ...]) -> Value:
    """What `operand` is, as far as integers, tuples and the loop's state go."""
    instruction = computation.get(operand.rpartition(" ")[2].removeprefix("%"))
    if instruction is None or not (instruction.shape.startswith("(") or _SCALAR.match(instruction.shape)):
        return None  # arrays cannot be counters; not following them keeps this short

    def of(i: int) -> Value:
        return _value(program, computation, instruction.operands[i], arguments)

    match instruction.opcode:
        case "constant":
            return int(text) if re.fullmatch(r"-?\d+", text := instruction.operands[0]) else None
        case "parameter":
            i = int(instruction.operands[0])
            return arguments[i] if i < len(arguments) else None
        case "copy" | "bitcast" | "convert" | "reshape":
            return of(0)
        case "tuple":
            return tuple(of(i) for i in range(len(instruction.operands)))
        case "get-tuple-element":
            whole, i = of(0), int(instruction.attributes["index"])
            return Slot(i) if whole == STATE else whole[i] if isinstance(whole, tuple) else None
        case "add" | "subtract":
            a, b = of(0), of(1)
            if isinstance(b, Slot) and instruction.opcode == "add":
                a, b = b, a
            if not isinstance(b, int) or not isinstance(a, int | Slot):
                return None
            b = b if instruction.opcode == "add" else -b
            return Slot(a.index, a.plus + b) if isinstance(a, Slot) else a + b
        case "compare":
            return Comparison(of(0), of(1), instruction.attributes["direction"])
        case "fusion" | "call":
            (called,) = instruction.called("calls", "to_apply")
            return _result(program, called, tuple(of(i) for i in range(len(instruction.operands))))
    return None
