"""How often loops run: random ones against Python's count, those that JAX and its compiler write, and special ones.

A reader of programs that returns a wrong number is worse than one that returns none: what is not certain is unknown.
"""

import operator
import re
from collections import Counter
from dataclasses import dataclass
from random import Random

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

from minipod import traffic

KINDS = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
TESTS = {name: getattr(operator, name.lower()) for name in ("LT", "LE", "GT", "GE", "NE", "EQ")}
STEPS = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}
LONGEST = 70_000  # 16 bits have fewer values: a loop that has not ended by then never does
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
    """How often the collective in the body of a loop runs, as minipod reads it from the text."""
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
  %a = f32[4] all-reduce(%x), replica_groups={{{{0,1}},{{2,3}},{{4,5}},{{6,7}}}}, use_global_device_ids=true
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
    """`value`, cut to a type of integers as the machine does."""
    bits = int(kind[1:])
    low = -(2 ** (bits - 1)) if kind[0] == "s" else 0
    return (value - low) % 2**bits + low


def drawn(random: Random) -> Loop:
    """A loop that often ends near where a type does."""
    kind = random.choice(KINDS)
    high = 2 ** (int(kind[1:]) - (kind[0] == "s")) - 1
    low = wrapped(high + 1, kind)
    near = [max(low, -3), 0, 1, 7, min(high, 200), low, low + 1, low + 3, high, high - 1, high - 4]
    start, op = random.choice(near), random.choice(("add",) * 5 + ("subtract",) * 3 + ("multiply",))
    by = random.choice((1, 1, 1, 2, 3, 5, 7, 16, 257 % (high + 1), 100, 0))
    stepped = random.choice(KINDS) if random.random() < 0.15 else kind
    far = start + random.choice((0, 1, 2, 9, 40, 100, 199)) * by * (1 if op == "add" else -1) + random.choice((0, 0, 1))
    tested = random.choice(KINDS) if random.random() < 0.3 else kind
    fitting = ("GT", "GE", "NE") if op == "subtract" else ("LT", "LE", "NE")
    return Loop(
        kind, start, wrapped(by, stepped), wrapped(random.choice((far, far, far, *near)), tested),
        tested=tested, stepped=stepped, op=op,
        direction=random.choice(fitting) if random.random() < 0.8 else random.choice([*TESTS]),
        second=wrapped(random.choice((-1, 1, 3)), tested) if random.random() < 0.1 else 0,
    )  # fmt: skip


def turns(loop: Loop) -> tuple[int | None, bool]:
    """How often it runs by Python's integers, and whether a number was cut to its type on the way.

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
    longest = LONGEST_WIDE if int(loop.kind[1:]) > 16 else LONGEST
    while len(seen) < longest and (i, bound) not in seen:
        if not TESTS[loop.direction](cut(i, loop.tested), bound):
            return len(seen), cuts
        seen.add((i, bound))
        next_ = cut(STEPS[loop.op](cut(i, loop.stepped), int(loop.by)), loop.stepped)
        i, bound = cut(next_, loop.kind), cut(bound + loop.second, loop.tested)
    return None, cuts


@pytest.mark.parametrize(("seed", "loops"), [(1, 100), pytest.param(2, 5_000, marks=pytest.mark.long)])
def test_random_loops_are_counted_as_python_counts_them_or_are_unknown(seed, loops):
    """No count is wrong, and what adds, ends, and never wraps is counted; enough of the loops are of each kind."""
    random, kinds = Random(seed), Counter[str]()
    for loop in (drawn(random) for _ in range(loops)):
        counted, (true, cut) = times(loop), turns(loop)
        assert counted is None or counted == true or (true is None and counted > LONGEST_WIDE), loop
        if true is not None and not cut and loop.op != "multiply":
            assert counted is not None, loop
        kinds["known" if counted is not None else "unknown" if true is not None else "never"] += 1
    assert min(kinds.values()) > loops // 10


NOTE = ', backend_config={"known_trip_count":{"n":"7"},"known_init_step":{"init":"0","step":"1"}}'
UNSEEN = 'custom-call(%p), custom_call_target="?"'


@pytest.mark.parametrize(
    "expected, arguments, more",
    [
        (7, ("s32", 0, 2, 9), {"direction": "EQ", "settings": NOTE}),  # the compiler's own word is taken
        # the counter on the other side of the comparison, or of the sum
        (5, ("s32", 0, 2, 9), {"test": "compare(%k, %i), direction=GT", "op": "add(%n, %i)"}),
        # ends nobody knows when
        (None, ("s32", UNSEEN, 2, 9), {}),
        (None, ("s32", 0, 2, UNSEEN), {}),
        (2**31 - 1, ("s32", 0, 1, 2**31 - 1), {}),
        (None, ("s32", 0, 1, 7), {"tested": "s4", "direction": "LE"}),  # never
        (None, ("s32", 0, 1, 1), {"tested": "pred", "test": "convert(%h)"}),
        # what the condition asks besides
        (None, ("s32", 0, 1, 9), {"test": "compare(%i, %k), direction=LT, type=UNSIGNED"}),
        (None, ("s32", 0, 1, 9), {"test": "custom-call(%i), custom_call_target=\"?\""}),
    ],
)  # fmt: skip
def test_a_counter_is_read_where_it_cannot_wrap_and_its_loop_is_unknown_elsewhere(expected, arguments, more):
    assert times(Loop(*arguments, **more)) == expected


def sent(x):
    return lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)])


def plain(x):
    """Six loops, each with an array of a size of its own; in the last the outer counter is where the inner one ends."""
    x[1] = lax.fori_loop(jnp.int8(5), jnp.int8(15), lambda _, a: sent(a), x[1])
    x[2] = lax.scan(lambda a, _: (sent(a), None), x[2], jnp.arange(1000), unroll=3)[0]
    x[3] = lax.scan(lambda a, _: (sent(a), None), x[3], jnp.arange(7), reverse=True)[0]
    x[4] = lax.fori_loop(0, 3, lambda _, a: lax.fori_loop(1, 5, lambda _, a: sent(a), a), x[4])
    x[5] = lax.fori_loop(0, 0, lambda _, a: sent(a), x[5])
    x[6] = lax.fori_loop(0, 4, lambda i, a: lax.fori_loop(0, i, lambda _, a: sent(a), a), x[6])
    return x


def by_size(text: str) -> dict[int, int | None]:
    found = [(c.bytes // 4, c.times) for c in traffic.read(text)]
    return {n: None if (n, None) in found else sum(t for size, t in found if size == n) for n in range(1, 7)}


def test_plain_loops_are_counted_in_the_compiled_program_with_the_compilers_own_note_and_without_it():
    mapped = jax.shard_map(plain, mesh=jax.make_mesh((8,), ("x",)), in_specs=P(), out_specs=P(), check_vma=False)
    text = jax.jit(mapped).lower({n: jnp.ones(n) for n in range(1, 7)}).compile().as_text()
    unnoted = re.sub(r'"known_trip_count":\{[^{}]*\},?', "", text)
    assert unnoted != text and by_size(text) == by_size(unnoted)
    assert by_size(text) == {1: 10, 2: 1000, 3: 7, 4: 3 * 4, 5: 0, 6: None}
