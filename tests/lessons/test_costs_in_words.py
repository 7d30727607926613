"""What the words about a mistake say of its cost, in bytes that a device sends, beside what the solution sends."""

import math
import sys
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import pytest
from jax import NamedSharding, P

from grader.see.observe import load
from minipod import traffic

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def modules(monkeypatch):
    """A chapter's solutions and its mistakes."""

    def of(chapter: str) -> tuple[ModuleType, ModuleType]:
        monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
        return load(ROOT / "solutions" / f"{chapter}.py"), load(ROOT / "lessons" / chapter / "mistakes.py")

    return of


def on(*shape: int) -> jax.sharding.Mesh:
    return jax.make_mesh(shape, ("x", "y")[: len(shape)], devices=jax.devices()[: math.prod(shape)])


def ratio(wrong, right, *args) -> float:
    """How many times what the solution sends the mistake sends."""
    mesh = args[0].sharding.mesh
    totals = [traffic.total(traffic.of(lambda *a, f=f: f(*a, mesh), *args)) for f in (wrong, right)]
    return totals[0] / totals[1]


def test_the_moments_that_are_left_to_jit_send_at_least_twice_as_much(modules):
    solution, mistakes = modules("ch06_shard_map")
    x = jax.device_put(jnp.ones((8, 8)), NamedSharding(on(2, 4), P("x", "y")))
    guess = jax.device_put(jnp.float32(1), NamedSharding(x.sharding.mesh, P()))
    right = solution.mean_and_variance
    assert 2 <= ratio(mistakes.mean_and_variance__left_to_jit, right, x, guess) < 2.2
    assert ratio(mistakes.mean_and_variance__two_rounds, right, x, guess) == 1


def test_gradients_averaged_first_send_three_times_and_gathered_n_times_as_much(modules, n=4):
    solution, mistakes = modules("ch07_collectives")
    mesh, right = on(n), solution.mean_gradient_shards
    gradient = jax.device_put(jnp.ones((n, 2 * n, 3)), NamedSharding(mesh, P("x")))

    def of(function):
        return lambda x, mesh: function({"w": x}, mesh)

    assert ratio(of(mistakes.mean_gradient_shards__averaged_first), of(right), gradient) == 3
    assert ratio(of(mistakes.mean_gradient_shards__gathered), of(right), gradient) == n


@pytest.mark.parametrize("n, more", [(2, 1.0), (4, 2.0)])
def test_whole_rows_send_more_than_pieces_from_three_devices_on(modules, n, more):
    solution, mistakes = modules("ch07_collectives")
    x = jax.device_put(jnp.ones((n, 4 * n)), NamedSharding(on(n), P("x")))
    assert ratio(mistakes.ring_all_reduce__whole_rows, solution.ring_all_reduce, x) == more
