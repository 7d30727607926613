"""Traffic counted: random loops and branches against the count from Python, and against what devices execute.

A reader of programs that tells a wrong number is worse than one that tells none: whatever is not certain is unknown.
"""

from collections import Counter
from math import inf
from random import Random

import counted_programs
import jax
import jax.numpy as jnp
import pytest
from counted_programs import LONGEST_WIDE, Plan, counted, plain, plan, sizes
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from minipod.hlo.calls import callees_first
from minipod.hlo.collectives import Collective, collectives
from minipod.hlo.text import parse

LOOPS = 50  # in one program: what takes time is done once


@pytest.fixture(autouse=True)
def integers_of_64_bits():
    with jax.enable_x64(True):
        yield


def lowered(made: Plan):
    mesh = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
    arrays = {size: jax.ShapeDtypeStruct((size,), jnp.float32) for size in sizes(made)}
    function = counted_programs.program(made)
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)).lower(arrays)


def before_xla(made: Plan) -> list[Collective]:
    """Of the program as XLA is given it: XLA leaves a loop out, or miscounts one, whose counter wraps."""
    text = lowered(made).compiler_ir("hlo").as_hlo_text()
    program = parse(text.replace("xla.sdy.", "").replace('custom_call_target="Sharding"', 'custom_call_target="-"'))
    reached = callees_first(program, program.entry)
    for name in program.computations.keys() - reached:  # left over from JAX's own lowering
        del program.computations[name]
    return collectives(program)


def told(found: list[Collective], made: Plan) -> dict[int, int | None]:
    """By size how often the bill says that it is sent."""
    times: dict[int, list[int | None]] = {size: [] for size in sizes(made)}
    for c in found:
        times[c.bytes // 4].append(c.times)
    return {size: None if None in n else sum(filter(None, n)) for size, n in times.items()}


def agree(said: int | None, true: float | None) -> bool:
    return said is None or said == true or (true == inf and said > LONGEST_WIDE)


def compare(said: dict[int, int | None], made: Plan) -> Counter[str]:
    """Nothing told is false, and what is plain is told. How many were known, unknown to us, and to Python as well."""
    true = counted(made)
    assert {size: (n, true[size]) for size, n in said.items() if not agree(n, true[size])} == {}
    assert [size for size in plain(made) if said[size] is None] == []
    return Counter(
        "known" if n is not None else "unknown" if true[size] is not None else "never" for size, n in said.items()
    )


def mostly_known(share: Counter[str]):
    """Of those that end: what multiplies, or waits for another loop's counter, is not read."""
    assert share["unknown"] < share["known"] / 2


def test_random_loops_are_counted_as_python_counts_them_or_are_unknown():
    made = plan(Random(1), LOOPS)
    mostly_known(compare(told(before_xla(made), made), made))


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_ten_thousand_random_loops_are_counted_as_python_counts_them_or_are_unknown(part):
    share: Counter[str] = Counter()
    for seed in range(1000 + 10 * part, 1010 + 10 * part):
        made = plan(Random(seed), LOOPS)
        share += compare(told(before_xla(made), made), made)
    mostly_known(share)
