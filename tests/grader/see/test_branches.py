"""A collective that not all devices come to is found before it is run; one that all come to is none of it."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from grader.see.branches import failure


def to_the_next(x):
    return lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)])


def from_the_second_turn_on(x):
    step = (lambda c: c[0].sum() < 30, lambda c: (c[1], c[2], c[2] + to_the_next(c[2]) + x))
    return lax.while_loop(*step, (jnp.zeros_like(x) * 1.0, jnp.ones_like(x), x))[2]


def found(part, check):
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    program = jax.jit(jax.shard_map(part, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=check))
    return failure(program, (jnp.ones(8),), __file__)


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(
    "part, op, inside",
    [
        (lambda x: lax.cond(lax.axis_index("x") > 0, lambda: to_the_next(x), lambda: x * 0), "ppermute", "cond"),
        (lambda x: lax.while_loop(lambda c: c.sum() < 3, lambda c: c + lax.psum(c, "x"), x), "psum", "while"),
        (lambda x: lax.fori_loop(0, lax.axis_index("x"), lambda _, c: c + lax.pmean(c, "x"), x), "psum", "while"),
    ],
)
def test_what_would_wait_for_ever_is_found_with_its_line(part, op, inside, check):
    seen = found(part, check)
    assert seen and (seen.text, seen.into, seen.kind) == (op, inside, "branch")
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[seen.code[0][0] - 1]
    assert "lax.p" in line
    assert found(from_the_second_turn_on, check=False).into == "while"


@pytest.mark.parametrize(
    "part",
    [
        lambda x: lax.cond(lax.axis_index("y") > 0, lambda: to_the_next(x), lambda: x * 0),  # they part along y only
        lambda x: lax.cond(lax.pmax(x.max(), "x") > 0, lambda: to_the_next(x), lambda: x * 0),  # all agree
        lambda x: lax.fori_loop(0, 3, lambda _, c: to_the_next(c), x),
        lambda x: to_the_next(lax.cond(lax.axis_index("x") > 0, lambda: x * 2, lambda: x)),
    ],
)
def test_what_all_devices_come_to_is_fine(part):
    assert found(part, True) is None and found(part, False) is None


def test_pmap_is_looked_into_and_what_cannot_be_traced_is_left_to_the_run():
    def part(x):
        return lax.cond(x > 0, lambda: lax.psum(x, "i"), lambda: x)

    seen = failure(lambda x: jax.pmap(part, "i")(x), (jnp.ones(8),), __file__)
    assert seen and (seen.text, seen.into) == ("psum", "cond")
    assert failure(lambda x: jnp.ones(3) @ x, (jnp.ones(8),), __file__) is None
