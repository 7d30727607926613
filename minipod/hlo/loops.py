"""Find how often a loop of a compiled program runs, from the compiler's note or else from the loop's counter.

The CPU and GPU compilers write `known_trip_count`. The TPU compiler does not, so the counter is read: an element of the
state that starts at a constant, gets a constant added in the body, and is compared in the condition with a constant or
another such element. If a type is too narrow, so that the counter would wrap, the count is unknown. For a loop that may
also end for a different reason, such as one over tokens until all are done, the counter gives the greatest count.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from minipod.hlo.calls import called
from minipod.hlo.scalars import STATE, All, Comparison, Either, Slot, Value, Values, at
from minipod.hlo.text import Computation, Instruction, quoted

_KNOWN = re.compile(r'"known_trip_count":\s*\{\s*"n":\s*"?(\d+)"?')


def trips(
    values: Values, computation: Computation, loop: Instruction, here: Mapping[str, Value], most: bool = False
) -> int | None:
    """Return how often the `while` instruction `loop`, a line of `computation`, runs its body; None if unknown.

    here: the values of the instructions of `computation`. most: return the greatest count if the exact one is unknown.
    Raises ValueError, quoting the line, for a loop without exactly one state, one condition and one body.
    """
    calls = called(values.program, computation, loop)
    if not len(calls.get("condition", ())) == len(calls.get("body", ())) == len(loop.operands) == 1:
        raise quoted("this loop does not have exactly one state, one condition and one body", loop.line)
    if known := _KNOWN.search(loop.rest):
        return int(known[1])
    start = here.get(loop.operand_names[0])
    after, test = (values.result(calls[key][0], (STATE,)) for key in ("body", "condition"))
    if not (isinstance(start, tuple) and isinstance(after, tuple)):
        return None
    parts = test.parts if isinstance(test, All) else (test,)
    parts = [_low_half(part, start, after) if isinstance(part, Either) else part for part in parts]
    counts = [_turns(part, start, after) if isinstance(part, Comparison) else None for part in parts]
    if None in counts and not most:
        return None
    return min((n for n in counts if n is not None), default=None)


def _turns(test: Comparison, start: tuple, after: tuple) -> int | None:
    """Count the iterations for which a comparison holds; None: unknown. start, after: state before and after one."""
    left, right = _counter(test.left, start, after), _counter(test.right, start, after)
    if left is None or right is None:
        return None
    n = _count(left.first - right.first, left.step - right.step, test.direction)
    return n if n is not None and left.holds(n) and right.holds(n) else None


def _low_half(test: Either, start: tuple, after: tuple) -> Comparison | None:
    """Return the test of the low half of a TPU's 64-bit counter, which decides as long as the low half does not wrap.

    The condition is `high < 0 or (high == 0 and low < n)`; high starts at 0, and grows only when low wraps.
    """
    by = {part.direction: part for part in test.right.parts if isinstance(part, Comparison)}
    zero, less = by.get("EQ"), by.get("LT")
    if len(test.right.parts) != 2 or not zero or not less or test.left.direction != "LT":
        return None
    high, low = zero.left, less.left
    if not isinstance(high, Slot) or not isinstance(low, Slot):
        return None
    negative = test.left.left
    same = isinstance(negative, Slot) and negative.index == high.index and negative.plus == high.plus == 0
    carry, step = at(after, high.index), at(after, low.index)
    if not isinstance(carry, Slot) or not isinstance(step, Slot) or carry.unless != (low.index, step.plus):
        return None
    still = (carry.index, carry.plus) == (high.index, 0) and at(start, high.index) == 0
    return less if same and still and zero.right == test.left.right == 0 else None


@dataclass(frozen=True)
class _Counter:
    """The values that a condition compares: first, first + step, … as long as the types of `tested` and, in the body,
    `stepped` hold them. start: first value of the element of the state."""

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
        """Return whether nothing wraps in `turns` iterations. The condition is tested once more than the body runs."""
        last = self.start + turns * self.step
        ends = [(self.tested, self.start), (self.tested, last)]
        if turns:
            ends += [(self.stepped, self.start), (self.stepped, last - self.step)]
        return all(slot.low <= x <= slot.high for slot, x in ends)


def _counter(value: Value, start: tuple, after: tuple) -> _Counter | None:
    """Return the counter for a value that a condition compares. start, after: as for `_turns`; None: unknown."""
    if isinstance(value, int):
        still = Slot(-1, 0, value, value)
        return _Counter(value, still, still)
    if not isinstance(value, Slot) or value.unless is not None:
        return None
    first, step = at(start, value.index), at(after, value.index)
    if isinstance(first, int) and isinstance(step, Slot) and step.index == value.index and step.unless is None:
        return _Counter(first, value, step)
    return None


def _count(first: int, step: int, direction: str) -> int | None:
    """Return how many of first, first + step, … are LT 0 (or LE, …) before one is not; None if all may be."""
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
