"""Traffic counted: random loops and branches against the count from Python, and against what devices execute.

A reader of programs that tells a wrong number is worse than one that tells none: whatever is not certain is unknown.
"""

import re
import tempfile
from collections import Counter
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import counted_programs
import jax
import jax.numpy as jnp
import pytest
from counted_programs import LONGEST_WIDE, Plan, conditionals, counted, plan, readable, sizes
from jax.profiler import ProfileData
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from seldom import rarely

from minipod import traffic
from minipod.hlo.calls import callees_first
from minipod.hlo.collectives import Collective, collectives
from minipod.hlo.text import parse
from minipod.hlo.text import size as text_size

LOOPS = 50  # in one program: what takes time is done once
DEVICES = 8
# Of jaxlib 0.12's nanobind, as it makes the type of a profile's events: as an error it would end Python.
pytestmark = pytest.mark.filterwarnings("ignore:builtin type event_stats:DeprecationWarning")


@pytest.fixture(autouse=True)
def integers_of_64_bits():
    with jax.enable_x64(True):
        yield


def lowered(made: Plan):
    mesh = jax.make_mesh((DEVICES,), ("x",), axis_types=(AxisType.Auto,))
    arrays = {size: jax.ShapeDtypeStruct((size,), jnp.float32) for size in sizes(made)}
    function = counted_programs.program(made)
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)).lower(arrays)


def executed(program: Any, made: Plan) -> dict[int, int]:
    """By size how often each device sent it, in a profile of one run: every device alike."""
    lines = [line for c in parse(program.as_text()).computations.values() for line in c.values()]
    sent = {line.name: text_size(line.shape) // 4 for line in lines if line.opcode == "collective-permute"}
    ran: Counter[tuple[int, int]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(program({size: jnp.zeros(size, jnp.float32) for size in sizes(made)}))
        for file in Path(folder).rglob("*.xplane.pb"):
            planes = ProfileData.from_file(str(file)).planes
            for event in (event for plane in planes for line in plane.lines for event in line.events):
                said = dict(event.stats)
                size = sent.get(str(said.get("hlo_op", "")))
                # Those called "end: …" are marks without length.
                if size and "device_ordinal" in said and not event.name.startswith("end"):
                    ran[size, int(said["device_ordinal"])] += 1
    for size in sizes(made):
        assert len({ran[size, device] for device in range(DEVICES)}) == 1, size
    return {size: ran[size, 0] for size in sizes(made)}


def before_xla(made: Plan) -> list[Collective]:
    """Of the program as XLA is given it: XLA leaves a loop out, or miscounts one, whose counter wraps."""
    given: Any = lowered(made).compiler_ir("hlo")
    text = given.as_hlo_text()
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


def compare(made: Plan) -> Counter[str]:
    """Nothing told is false, and what has to be known is told. How many were known, how many unknown, and to whom."""
    said, true = told(before_xla(made), made), counted(made)
    assert {size: (n, true[size]) for size, n in said.items() if not agree(n, true[size])} == {}
    assert [size for size in readable(made) if said[size] is None] == []
    return Counter(
        "known" if n is not None else "unknown" if true[size] is not None else "never" for size, n in said.items()
    )


def test_random_loops_are_counted_as_python_counts_them_or_are_unknown():
    share = compare(plan(Random(1), LOOPS))
    assert min(share.values()) > 5  # of each kind enough


@pytest.mark.long
@pytest.mark.parametrize("part", [0, *rarely(*range(1, 20))])
def test_ten_thousand_random_loops_are_counted_as_python_counts_them_or_are_unknown(part):
    for seed in range(1000 + 10 * part, 1010 + 10 * part):
        compare(plan(Random(seed), LOOPS))


def run_and_compare(made: Plan) -> int:
    """What devices execute is what the bill tells, unless it is unknown. How many of the `Sent` were told.

    Not what Python counts: XLA (0.10.2) itself runs `i = 0; while i < 1: i += 2` not at all, and says so. What is plain
    has Python's count, with the compiler's own note and without it.
    """
    program = lowered(made).compile()
    text = program.as_text()
    bill = traffic.read(text)
    said, ran, true = told(bill, made), executed(program, made), counted(made)
    unnoted = told(traffic.read(re.sub(r'"known_trip_count":\{[^{}]*\},?', "", text)), made)
    for size in readable(made, whiles=False):
        assert said[size] == unnoted[size] == true[size], size
    in_branches = {size for branches in conditionals(made) for branch in branches for size in sizes(branch)}
    known = {size: n for size, n in said.items() if n is not None}
    assert {size: (n, ran[size]) for size, n in known.items() if size not in in_branches and n != ran[size]} == {}
    assert {size: (n, ran[size]) for size, n in known.items() if n < ran[size]} == {}
    for branches in conditionals(made):  # one of them runs, each time
        first = [sizes(branch)[0] for branch in branches]
        if all(size in known for size in first):
            assert [known[size] for size in first] == [sum(ran[size] for size in first)] * len(first)
    total = traffic.total([c for c in bill if c.bytes // 4 in known])
    assert total >= sum(4 * size * ran[size] for size in known)
    return len(known)


def test_what_devices_execute_is_what_the_bill_tells():
    assert run_and_compare(plan(Random(2), 12, tame=True)) > 12


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 112))
def test_what_devices_execute_in_three_hundred_programs_is_what_the_bill_tells(seed):
    assert run_and_compare(plan(Random(seed), 25, tame=True)) > 25
