"""Random programs of loops and branches, made from a plan: as JAX runs them, and as Python counts them.

Every `Sent` is of a size of its own, by which it is found again in a compiled
program. `turns` counts in Python's integers, cut to the counter's type after each step: it is the oracle.
"""

import functools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
TESTS: dict[str, tuple[Callable[[int, int], bool], Callable[[Any, Any], Any]]] = {
    "<": (operator.lt, lax.lt),
    "<=": (operator.le, lax.le),
    ">": (operator.gt, lax.gt),
    ">=": (operator.ge, lax.ge),
    "!=": (operator.ne, lax.ne),
    "==": (operator.eq, lax.eq),
}
STEPS: dict[str, tuple[Callable[[int, int], int], Callable[[Any, Any], Any]]] = {
    "+": (operator.add, lax.add),
    "-": (operator.sub, lax.sub),
    "*": (operator.mul, lax.mul),
}
RING = [(i, (i + 1) % 8) for i in range(8)]
LONGEST = 70_000  # 16 bits have fewer values: what has not ended by then never does
LONGEST_WIDE = 3_000  # of counters with more bits: these may end later


@dataclass(frozen=True)
class Sent:
    """An array of `size` elements that each device sends to the next: XLA neither joins nor simplifies these."""

    size: int


@dataclass(frozen=True)
class Counted:
    """`fori_loop(start, stop)` or a scan: how often it runs is plain, and has to be known."""

    kind: str
    start: int
    stop: int
    type: str
    unroll: int
    body: "Plan"


@dataclass(frozen=True)
class While:
    """`while test(i): i = step(i)`, in the counter's type, or in another one to which it is converted first."""

    type: str
    start: int
    step: str
    by: int
    test: str
    bound: int
    body: "Plan"
    tested_as: str | None = None
    stepped_as: str | None = None
    turned: bool = False  # bound < i
    carried: bool = False  # the bound is an element of the state
    second: int = 0  # the bound is a counter itself, that changes by so much
    outer: str = ""  # what the counter of the loop around it is: the "start" or the "bound"
    data: bool = False  # it ends earlier where the data say so


@dataclass(frozen=True)
class Either:
    """A conditional, decided by the data or by a counter's parity."""

    by_data: bool
    branches: tuple["Plan", ...]


Plan = tuple[Sent | Counted | While | Either, ...]


@functools.cache
def limits(type: str) -> tuple[int, int]:
    return int(np.iinfo(type).min), int(np.iinfo(type).max)


def wrapped(value: int, type: str) -> int:
    low, high = limits(type)
    return (value - low) % (high - low + 1) + low


def plan(random: Random, loops: int, tame: bool = False) -> Plan:
    """So many loops beside each other, in branches and in each other. Tame: they end soon, and nothing wraps."""
    fresh = iter(range(1, 100_000))
    return tuple(_loop(random, fresh, 0, tame) for _ in range(loops))


def _body(random: Random, fresh: Iterator[int], depth: int, tame: bool, counted: bool) -> Plan:
    body: Plan = (Sent(next(fresh)),)
    if depth < 2 and random.random() < 0.25:
        body += (_loop(random, fresh, depth + 1, tame, counted),)
    if depth < 2 and random.random() < 0.15:
        branches = []
        for _ in range(random.choice((2, 2, 3))):
            more = (_loop(random, fresh, depth + 1, tame),) if random.random() < 0.5 else ()
            branches.append((Sent(next(fresh)), *more))
        body += (Either(random.random() < 0.5, tuple(branches)),)
    return body


def _loop(random: Random, fresh: Iterator[int], depth: int, tame: bool, counted: bool = False) -> Counted | While:
    """`counted`: what is around it runs few times, so that its counter may decide how often this one does."""
    if random.random() < 0.4:
        return _plain(random, fresh, depth, tame)
    while True:
        loop = _odd(random, counted)
        if not tame or (not _falls(loop) and all(_soon(turns(loop, i)) for i in (range(12) if loop.outer else (0,)))):
            break
    return replace(loop, body=_body(random, fresh, depth, tame, False))


def _falls(loop: While) -> bool:
    """Does an unsigned number count down? XLA (0.10.2) may abort there."""
    falling = [loop.stepped_as or loop.type] * (loop.step == "-") + [loop.tested_as or loop.type] * (loop.second < 0)
    return any(type.startswith("u") for type in falling)


def _soon(found: tuple[list[int] | float | None, bool]) -> bool:
    return isinstance(found[0], list) and len(found[0]) <= 20 and not found[1]


def _odd(random: Random, counted: bool) -> While:
    type = random.choice(TYPES)
    low, high = limits(type)
    near = [max(low, -3), 0, 1, 7, min(high, 200), low, low + 1, low + 3, high, high - 1, high - 4]
    start = random.choice(near)
    by = random.choice((1, 1, 1, 2, 3, 5, 7, 16, 257 % (high + 1), 100, 0))
    step = random.choice("+++++---*")
    far = start + random.choice((0, 1, 2, 9, 40, 100, 199)) * by * (1 if step == "+" else -1) + random.choice((0, 0, 1))
    tested_as = random.choice(TYPES) if random.random() < 0.3 else None
    fitting = {"+": ("<", "<=", "!="), "-": (">", ">=", "!="), "*": ("<", "<=", "!=")}[step]
    return While(
        type=type,
        start=start,
        step=step,
        by=by,
        test=random.choice(fitting) if random.random() < 0.8 else random.choice(tuple(TESTS)),
        bound=wrapped(random.choice((far, far, far, *near)), tested_as or type),
        body=(),
        tested_as=tested_as,
        stepped_as=random.choice(TYPES) if random.random() < 0.15 else None,
        turned=random.random() < 0.3,
        carried=random.random() < 0.3,
        second=random.choice((-1, 1, 3)) if random.random() < 0.1 else 0,
        outer=random.choice(("start", "bound")) if counted and random.random() < 0.6 else "",
        data=random.random() < 0.05,
    )


def _plain(random: Random, fresh: Iterator[int], depth: int, tame: bool) -> Counted:
    kind = random.choice(("fori", "fori", "scan", "reversed"))
    start = random.choice((0, 0, 0, 1, 5)) if kind == "fori" else 0
    many = (4,) if tame else (24, 100, 120 if kind == "fori" else 1000)  # 125 is in all types
    stop = start + random.choice((0, 1, 2, 3, 10, *many))
    return Counted(
        kind=kind,
        start=start,
        stop=stop,
        type=random.choice(("int32", "int32", *TYPES)),
        unroll=random.choice((1, 1, 1, 2, 3)) if kind != "fori" else 1,
        body=_body(random, fresh, depth, tame, stop - start <= 10),
    )


def turns(loop: Counted | While, outer: int = 0) -> tuple[list[int] | float | None, bool]:
    """The counter in every turn of a loop, and whether a number was cut to its type on the way.

    None for a loop that ends when the data say so, or never; infinity for one that has not ended after `LONGEST_WIDE`.
    """
    if isinstance(loop, Counted):
        return list(range(loop.start, loop.stop)), False
    if loop.data:
        counter, cuts_too = turns(replace(loop, data=False), outer)
        return counter and None, cuts_too
    cuts: list[bool] = []

    def cut(value: int, type: str) -> int:
        cuts.append(value != (inside := wrapped(value, type)))
        return inside

    compared, stepped = loop.tested_as or loop.type, loop.stepped_as or loop.type
    i = cut(outer, loop.type) if loop.outer == "start" else loop.start
    bound = cut(outer, compared) if loop.outer == "bound" else loop.bound
    test, step, by = TESTS[loop.test][0], STEPS[loop.step][0], wrapped(loop.by, stepped)
    second = wrapped(loop.second, compared)
    seen: dict[tuple[int, int], None] = {}  # in order
    wide = np.iinfo(loop.type).bits > 16
    while len(seen) < (LONGEST_WIDE if wide else LONGEST) and (i, bound) not in seen:
        left = cut(i, compared)
        if not (test(bound, left) if loop.turned else test(left, bound)):
            return [i for i, _ in seen], any(cuts)
        seen[i, bound] = None
        i = cut(cut(step(cut(i, stepped), by), stepped), loop.type)
        bound = cut(bound + second, compared)
    return (None if (i, bound) in seen or not wide else inf), any(cuts)


def sizes(plan: Plan) -> list[int]:
    """The sizes of all `Sent`s, in order."""
    found: list[int] = []
    for node in plan:
        if isinstance(node, Sent):
            found.append(node.size)
        else:
            for inner in node.branches if isinstance(node, Either) else (node.body,):
                found += sizes(inner)
    return found


def counted(plan: Plan, outer: int = 0) -> dict[int, float | None]:
    """How often each `Sent` runs by its size, every branch as if it were taken; None and infinity as in `turns`."""
    found: dict[int, float | None] = {}
    for node in plan:
        if isinstance(node, Sent):
            found[node.size] = 1
        elif isinstance(node, Either):
            for branch in node.branches:
                found |= counted(branch, outer)
        else:
            counter, _ = turns(node, outer)
            if not isinstance(counter, list):
                found |= {size: n and (None if counter is None else n * inf) for size, n in counted(node.body).items()}
            elif not any(isinstance(inner, While) and inner.outer for inner in node.body):
                # Whatever is in it runs alike in each turn
                found |= {size: n and n * len(counter) for size, n in counted(node.body).items() if counter}
                found |= {size: 0 for size in sizes(node.body) if not counter}
            else:
                each = [counted(node.body, i) for i in counter]
                for size in sizes(node.body):
                    times = [n[size] for n in each]
                    found[size] = None if None in times else sum(n for n in times if n is not None)
    return found


def readable(plan: Plan, whiles: bool = True) -> set[int]:
    """The sizes of the `Sent`s around which each loop is one that has to be known: `fori_loop`s and scans, and where a
    `while` loop adds, ends, and nothing wraps, that too."""
    found: set[int] = set()
    for node in plan:
        if isinstance(node, Sent):
            found.add(node.size)
        elif isinstance(node, Either):
            found |= set().union(*(readable(branch, whiles) for branch in node.branches))
        elif isinstance(node, Counted) or (whiles and _adds(node)):
            found |= readable(node.body, whiles)
    return found


def _adds(loop: While) -> bool:
    counter, cut = turns(loop)
    return isinstance(counter, list) and not cut and loop.step != "*" and not loop.outer and not loop.data


def conditionals(plan: Plan) -> list[tuple[Plan, ...]]:
    """The branches of each conditional."""
    found: list[tuple[Plan, ...]] = []
    for node in plan:
        if isinstance(node, Either):
            found += [node.branches, *(inner for branch in node.branches for inner in conditionals(branch))]
        elif not isinstance(node, Sent):
            found += conditionals(node.body)
    return found


Arrays = dict[int, jax.Array]


def program(plan: Plan) -> Callable[[Arrays], Arrays]:
    """What each of eight devices on the axis "x" runs, from arrays by their size to what has become of them."""

    def whole(arrays: Arrays) -> Arrays:
        return _run(plan, arrays, jnp.int32(0))

    return whole


def _run(plan: Plan, arrays: Arrays, outer: jax.Array) -> Arrays:
    for node in plan:
        if isinstance(node, Sent):
            arrays = arrays | {node.size: lax.ppermute(arrays[node.size], "x", RING)}
        else:
            mine = {size: arrays[size] for size in sizes((node,))}
            if isinstance(node, Either):
                arrays = arrays | _either(node, mine, outer)
            elif isinstance(node, Counted):
                arrays = arrays | _counted(node, mine)
            else:
                arrays = arrays | _while(node, mine, outer)
    return arrays


def _either(node: Either, arrays: Arrays, outer: jax.Array) -> Arrays:
    first = arrays[min(arrays)][0]
    which = lax.convert_element_type(first if node.by_data else outer, jnp.int32) % len(node.branches)
    run = [lambda a, branch=branch: _run(branch, a, outer) for branch in node.branches]
    return lax.switch(which, run, arrays)


def _counted(node: Counted, arrays: Arrays) -> Arrays:
    if node.kind == "fori":
        bounds = (np.dtype(node.type).type(end) for end in (node.start, node.stop))
        return lax.fori_loop(*bounds, lambda i, a: _run(node.body, a, i), arrays)
    i = jnp.arange(node.stop, dtype=np.int32)
    reverse = node.kind == "reversed"
    return lax.scan(lambda a, i: (_run(node.body, a, i), None), arrays, i, reverse=reverse, unroll=node.unroll)[0]


def _while(node: While, arrays: Arrays, outer: jax.Array) -> Arrays:
    compared, stepped = np.dtype(node.tested_as or node.type), np.dtype(node.stepped_as or node.type)

    def constant(value: int, dtype: np.dtype) -> jax.Array:
        return jnp.asarray(np.array(value).astype(dtype))

    def test(state: Any) -> jax.Array:
        i, bound, a = state
        if not (node.carried or node.second or node.outer == "bound"):
            bound = constant(node.bound, compared)
        sides = lax.convert_element_type(i, compared), bound
        go_on = TESTS[node.test][1](*(reversed(sides) if node.turned else sides))
        return go_on & (a[min(a)][0] < 1e30) if node.data else go_on

    def body(state: Any) -> Any:
        i, bound, a = state
        a = _run(node.body, a, i)
        i = STEPS[node.step][1](lax.convert_element_type(i, stepped), constant(wrapped(node.by, str(stepped)), stepped))
        return lax.convert_element_type(i, node.type), bound + constant(node.second, compared), a

    start, bound = constant(node.start, np.dtype(node.type)), constant(node.bound, compared)
    if node.outer == "start":
        start = lax.convert_element_type(outer, node.type)
    if node.outer == "bound":
        bound = lax.convert_element_type(outer, compared)
    return lax.while_loop(test, body, (start, bound, arrays))[2]
