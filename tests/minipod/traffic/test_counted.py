"""Loops counted: random ones against the count from Python, and those that JAX and its compiler write.

A reader of programs that tells a wrong number is worse than one that tells none: whatever is not certain is unknown.
"""

import re
from collections import Counter
from random import Random

import jax
import jax.numpy as jnp
import pytest
from counted_loops import LONGEST_WIDE, drawn, times, turns
from jax import lax
from jax.sharding import PartitionSpec as P

from minipod import traffic


def compare(seed: int, loops: int) -> Counter[str]:
    """Nothing told is false, and what adds, ends, and never wraps is told. How many were known, how many unknown."""
    random, share = Random(seed), Counter[str]()
    for _ in range(loops):
        loop = drawn(random)
        said, (true, cut) = times(loop), turns(loop)
        assert said is None or said == true or (true is None and said > LONGEST_WIDE), loop
        if true is not None and not cut and loop.op != "multiply":
            assert said is not None, loop
        share["known" if said is not None else "unknown" if true is not None else "never"] += 1
    return share


def test_random_loops_are_counted_as_python_counts_them_or_are_unknown():
    assert min(compare(1, 200).values()) > 20  # of each kind enough


@pytest.mark.long
def test_five_thousand_random_loops_are_counted_as_python_counts_them_or_are_unknown():
    compare(2, 5_000)


AROUND = [(i, (i + 1) % 8) for i in range(8)]


def sent(x):
    return lax.ppermute(x, "x", AROUND)


def plain(x):
    """Six loops, each with an array of a size of its own; in the last the outer counter is where the inner one ends."""
    x[1] = lax.fori_loop(jnp.int8(5), jnp.int8(15), lambda _, a: sent(a), x[1])
    x[2] = lax.scan(lambda a, _: (sent(a), None), x[2], jnp.arange(1000), unroll=3)[0]
    x[3] = lax.scan(lambda a, _: (sent(a), None), x[3], jnp.arange(7), reverse=True)[0]
    x[4] = lax.fori_loop(0, 3, lambda _, a: lax.fori_loop(1, 5, lambda _, a: sent(a), a), x[4])
    x[5] = lax.fori_loop(0, 0, lambda _, a: sent(a), x[5])
    x[6] = lax.fori_loop(0, 4, lambda i, a: lax.fori_loop(0, i, lambda _, a: sent(a), a), x[6])
    return x


def told(text: str) -> dict[int, int | None]:
    found = {size: 0 for size in range(1, 7)}
    for c in traffic.read(text):
        found[c.bytes // 4] = None if c.times is None else found[c.bytes // 4] + c.times
    return found


def test_plain_loops_are_counted_in_the_compiled_program_with_the_compilers_own_note_and_without_it():
    mapped = jax.shard_map(plain, mesh=jax.make_mesh((8,), ("x",)), in_specs=P(), out_specs=P(), check_vma=False)
    text = jax.jit(mapped).lower({n: jnp.ones(n) for n in range(1, 7)}).compile().as_text()
    unnoted = re.sub(r'"known_trip_count":\{[^{}]*\},?', "", text)
    assert unnoted != text and told(text) == told(unnoted)
    assert told(text) == {1: 10, 2: 1000, 3: 7, 4: 3 * 4, 5: 0, 6: None}
