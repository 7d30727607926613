"""The estimate of a plan, for programs compiled for slices that are not here: needs libtpu."""

import jax
import jax.numpy as jnp
import pytest
from jax import NamedSharding, P

from minipod import pods
from minipod.hlo import text
from minipod.pods import compiler
from minipod.pods.estimate import estimate

pytestmark = pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")


def array(mesh, shape, *spec, dtype=jnp.bfloat16):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))


def unrolled(mesh):
    """A few products of few rows: the weights are fetched ahead."""

    def step(x, weights):
        for up, down in weights:
            x = x + jnp.tanh(x @ up) @ down
        return x

    shapes = [(array(mesh, (2048, 8192), None, "d"), array(mesh, (8192, 2048), "d")) for _ in range(4)]
    return step, array(mesh, (16, 2048)), shapes


def test_an_estimate_lies_between_the_longest_of_the_three_and_their_sum_and_fetches_hide_sums():
    """By hand: 4 × 2 × 2048 × 1024 weights of 2 bytes a device, 41.0 µs at 819 GB/s; four sums, that hold the core."""
    mesh = pods.mesh("v5e:2x4", d=8)
    plan = pods.compile(*unrolled(mesh))
    one, said = estimate(text.parse(plan.text), plan.chip, mesh), plan.seconds
    assert (one.compute, one.memory, one.network) == pytest.approx((said.compute, said.memory, said.network))
    assert said.least * (1 - 1e-9) <= one.seconds <= said.most * (1 + 1e-9)
    assert one.memory == pytest.approx(33_554_432 / 8.19e11, rel=0.02)
    assert len(plan.collectives) == 4 and plan.overlaps == () and one.network == pytest.approx(one.for_network)
    assert one.seconds - one.memory < 0.4 * one.network  # most of the sums' time has passed under fetches
