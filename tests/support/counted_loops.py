"""The text of a loop around one collective, and how often it runs by Python's integers, cut to the counter's type."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from minipod import traffic

GROUPS = "replica_groups={{0,1},{2,3},{4,5},{6,7}}, channel_id=1, use_global_device_ids=true"
BITS = {"s8": 8, "u8": 8, "s16": 16, "u16": 16, "s32": 32, "u32": 32, "s64": 64, "u64": 64}
TESTS: dict[str, Callable[[int, int], bool]] = {
    "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge, "NE": operator.ne, "EQ": operator.eq,
}  # fmt: skip
STEPS: dict[str, Callable[[int, int], int]] = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}
LONGEST = 70_000  # 16 bits have fewer values: what has not ended by then never does
LONGEST_WIDE = 3_000  # of counters with more bits: these may end later


@dataclass(frozen=True)
class Loop:
    """`while start direction bound: start = op(start, by)`. Start or bound may be operations, op and test whole lines.

    The counter may be `tested` or `stepped` in another type, and the bound may move by `second` each turn.
    """

    kind: str
    start: int | str
    by: int | str
    bound: int | str
    direction: str = "LT"
    tested: str = ""
    stepped: str = ""
    op: str = "add"
    test: str = ""
    second: int = 0
    settings: str = ""


def times(loop: Loop) -> int | None:
    """How often its collective runs, as the bill says."""
    kind, tested, stepped = loop.kind, loop.tested or loop.kind, loop.stepped or loop.kind
    state = f"({kind}[], {tested}[], f32[4])"
    start, bound = (each if "(" in str(each) else f"constant({each})" for each in (loop.start, loop.bound))
    (c,) = traffic.read(f"""HloModule test, num_partitions=8

%body (s: {state}) -> {state} {{
  %s = {state} parameter(0)
  %h = {kind}[] get-tuple-element(%s), index=0
  %i = {stepped}[] convert(%h)
  %k = {tested}[] get-tuple-element(%s), index=1
  %x = f32[4] get-tuple-element(%s), index=2
  %n = {stepped}[] constant({loop.by})
  %m = {tested}[] constant({loop.second})
  %l = {tested}[] {"add(%k, %m)" if loop.second else "copy(%k)"}
  %o = {stepped}[] {loop.op if "(" in loop.op else f"{loop.op}(%i, %n)"}
  %j = {kind}[] convert(%o)
  %a = f32[4] all-reduce(%x), {GROUPS}
  ROOT %t = {state} tuple(%j, %l, %a)
}}

%test (s: {state}) -> pred[] {{
  %s = {state} parameter(0)
  %h = {kind}[] get-tuple-element(%s), index=0
  %i = {tested}[] convert(%h)
  %k = {tested}[] get-tuple-element(%s), index=1
  ROOT %c = pred[] {loop.test or f"compare(%i, %k), direction={loop.direction}"}
}}

ENTRY %main (p: f32[4]) -> {state} {{
  %p = f32[4] parameter(0)
  %z = {kind}[] {start}
  %k = {tested}[] {bound}
  %t = {state} tuple(%z, %k, %p)
  ROOT %w = {state} while(%t), condition=%test, body=%body{loop.settings}
}}
""")
    return c.times


def wrapped(value: int, kind: str) -> int:
    low = -(2 ** (BITS[kind] - 1)) if kind[0] == "s" else 0
    return (value - low) % 2 ** BITS[kind] + low


def drawn(random: Random) -> Loop:
    """A loop that often ends near where a type does."""
    kind = random.choice([*BITS])
    high = 2 ** (BITS[kind] - (kind[0] == "s")) - 1
    low = wrapped(high + 1, kind)
    near = [max(low, -3), 0, 1, 7, min(high, 200), low, low + 1, low + 3, high, high - 1, high - 4]
    start, op = random.choice(near), random.choice(("add",) * 5 + ("subtract",) * 3 + ("multiply",))
    by = random.choice((1, 1, 1, 2, 3, 5, 7, 16, 257 % (high + 1), 100, 0))
    stepped = random.choice([*BITS]) if random.random() < 0.15 else kind
    far = start + random.choice((0, 1, 2, 9, 40, 100, 199)) * by * (1 if op == "add" else -1) + random.choice((0, 0, 1))
    tested = random.choice([*BITS]) if random.random() < 0.3 else kind
    fitting = ("GT", "GE", "NE") if op == "subtract" else ("LT", "LE", "NE")
    return Loop(
        kind, start, wrapped(by, stepped), wrapped(random.choice((far, far, far, *near)), tested),
        tested=tested, stepped=stepped, op=op,
        direction=random.choice(fitting) if random.random() < 0.8 else random.choice([*TESTS]),
        second=wrapped(random.choice((-1, 1, 3)), tested) if random.random() < 0.1 else 0,
    )  # fmt: skip


def turns(loop: Loop) -> tuple[int | None, bool]:
    """How often it runs, and whether a number was cut to its type on the way.

    None: never ends, or has not after `LONGEST_WIDE` turns of a counter of more than 16 bits.
    """
    cuts = False

    def cut(value: int, kind: str) -> int:
        nonlocal cuts
        inside = wrapped(value, kind)
        cuts = cuts or inside != value
        return inside

    i, bound = int(loop.start), int(loop.bound)
    seen = set()
    longest = LONGEST_WIDE if BITS[loop.kind] > 16 else LONGEST
    while len(seen) < longest and (i, bound) not in seen:
        if not TESTS[loop.direction](cut(i, loop.tested), bound):
            return len(seen), cuts
        seen.add((i, bound))
        next_ = cut(STEPS[loop.op](cut(i, loop.stepped), int(loop.by)), loop.stepped)
        i, bound = cut(next_, loop.kind), cut(bound + loop.second, loop.tested)
    return None, cuts
