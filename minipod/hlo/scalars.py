"""Find the known values of a compiled program's scalars: integers, a loop's state, and comparisons of them."""

import re
from dataclasses import dataclass, replace

from minipod.hlo.calls import called
from minipod.hlo.text import Computation, Instruction, Program

_SCALAR = re.compile(r"(?:([su])(\d+)|pred)\[\]")


@dataclass(frozen=True)
class Slot:
    """Element `index` of the loop's state plus a constant, if the element is in `low` … `high`; otherwise it wraps.

    unless: (i, n): valid only as long as element i plus n does not wrap, as for the high half of a long number.
    """

    index: int
    plus: int
    low: int
    high: int
    unless: tuple[int, int] | None = None


@dataclass(frozen=True)
class Comparison:
    """A comparison of two values. direction: LT, LE, GT, GE, NE or EQ, as XLA spells it."""

    left: "Value"
    right: "Value"
    direction: str


@dataclass(frozen=True)
class All:
    """Several conditions, all of which must be true; None is an unknown one."""

    parts: tuple["Comparison | Either | None", ...]


@dataclass(frozen=True)
class Either:
    """Two conditions, at least one of which must be true."""

    left: Comparison
    right: All


STATE = "the loop's state"
Value = int | Slot | Comparison | All | Either | tuple | str | None  # str: STATE; tuple: of Values; None: unknown


class Values:
    """The values of a program's instructions: integers, tuples and a loop's state."""

    def __init__(self, program: Program):
        self.program = program
        self.known: dict[tuple[str, tuple[Value, ...]], dict[str, Value]] = {}

    def of(self, name: str, arguments: tuple[Value, ...] = ()) -> dict[str, Value]:
        """Return the value of every instruction of the computation `name`. arguments: of the call; () if unknown."""
        key = name, arguments
        if key not in self.known:
            computation, values = self.program.computations[name], {}
            for instruction in computation.values():  # operands come before their users
                values[instruction.name] = self._value(computation, instruction, values, arguments)
            self.known[key] = values
        return self.known[key]

    def result(self, name: str, arguments: tuple[Value, ...]) -> Value:
        """Return the value that the computation `name` returns, called with `arguments`."""
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
        """Return the value as if integers were unbounded."""
        operands = tuple(values.get(name) for name in line.operand_names)
        match line.opcode, operands:
            case "constant", _:
                return int(text) if re.fullmatch(r"-?\d+", text := "".join(line.operands)) else None
            case "parameter", _:
                return at(arguments, int(i)) if (i := "".join(line.operands)).isdecimal() else None
            case (("copy" | "bitcast" | "bitcast-convert" | "convert" | "reshape"), (value,)):
                return value
            case "tuple", _:
                return operands
            case "get-tuple-element", (whole,):
                i = int(index) if (index := line.attributes.get("index", "")).isdecimal() else -1
                scalar = _SCALAR.match(line.shape)
                return Slot(i, 0, *_range(scalar)) if whole == STATE and scalar else at(whole, i)
            case "add", (int() as a, (int() | Slot()) as b) | ((int() | Slot()) as b, int() as a):
                return replace(b, plus=b.plus + a) if isinstance(b, Slot) else a + b
            case "subtract", ((int() | Slot()) as a, int() as b):
                return replace(a, plus=a.plus - b) if isinstance(a, Slot) else a - b
            case "compare", (a, b) if "type" not in line.attributes:  # written if it is not that of the operands
                return Comparison(a, b, line.attributes.get("direction", ""))
            case "and", (a, b):
                parts = (*_parts(a), *_parts(b))
                return All(parts) if any(parts) else None
            case "or", (Comparison() as a, All() as b) | (All() as b, Comparison() as a):
                return Either(a, b)
            case "select", (Comparison(Slot() as after, Slot() as before, "LT"), _, Slot() as value):
                # x + 1 < x only where x + 1 wraps
                wraps = after.index == before.index and after.plus > before.plus == 0 and value.unless is None
                return replace(value, unless=(after.index, after.plus)) if wraps else None
            case (("fusion" | "call" | "fusion-start" | "call-start" | "async-start"), _):
                names = [name for names in called(self.program, computation, line).values() for name in names]
                result = self.result(names[0], operands) if len(names) == 1 else None
                return (operands, result, None) if line.opcode.endswith("-start") else result
            case (("fusion-update" | "call-update" | "async-update"), (started,)):
                return started
            case (("fusion-done" | "call-done" | "async-done"), (started,)):
                return at(started, 1)
        return None


def _parts(condition: Value) -> tuple[Comparison | Either | None, ...]:
    """Return the conditions that a condition consists of."""
    if isinstance(condition, All):
        return condition.parts
    return (condition if isinstance(condition, Comparison | Either) else None,)


def _range(scalar: re.Match[str]) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type, as matched in a shape; 0 and 1 for pred."""
    bits = int(scalar[2] or 1)
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if scalar[1] == "s" else (0, 2**bits - 1)


def _typed(value: Value, low: int, high: int) -> Value:
    """Return `value` in a type from `low` to `high`: a number wraps, a counter gets these bounds."""
    if isinstance(value, Slot):
        return replace(value, low=max(value.low, low - value.plus), high=min(value.high, high - value.plus))
    if not isinstance(value, int) or low <= value <= high:
        return value
    return None if high == 1 else (value - low) % (high - low + 1) + low  # a conversion to pred does not wrap


def at(values: Value, i: int) -> Value:
    """Return element `i` of a tuple; None if it is not a tuple or has no such element."""
    return values[i] if isinstance(values, tuple) and 0 <= i < len(values) else None
