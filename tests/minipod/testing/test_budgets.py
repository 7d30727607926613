"""Budgets of a test: they are kept, or what was found is said."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import P

from minipod.testing import assert_memory, assert_replicas_equal, assert_traffic, assert_work


def like(*shape, axis="i"):
    sharding = jax.NamedSharding(jax.make_mesh((8,), ("i",)), P(axis))
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)


def gathered(x):
    return jax.reshard(x, jax.NamedSharding(jax.typeof(x).sharding.mesh, P())).sum(0)


def square(x):
    return x @ x


def test_budgets_are_kept_or_say_what_was_found():
    many, whole = like(8, 1024), like(8, 8, axis=None)
    assert_traffic(gathered, many, sent=28_672, most=28_672, only={"all-gather"}, along="i")
    assert_traffic(lambda x: 2 * x, like(8, 4), only=())
    assert_work(square, whole, flops=1024, most=1024)
    assert_memory(lambda x: x + 1, like(8, 8), temporary=0, arguments=32)
    apart = [jax.device_put(np.full(4, float(device.id)), device) for device in jax.devices()]
    state = {"w": jax.make_array_from_single_device_arrays((4,), whole.sharding.update(spec=P()), apart)}
    for check, said in (
        (lambda: assert_traffic(gathered, many, sent=7_168), "each device sends 28,672 bytes, not 7,168"),
        (
            lambda: assert_traffic(gathered, many, only={"all-reduce"}),
            "found all-gather, but only all-reduce is allowed",
        ),
        (lambda: assert_work(square, whole, flops=512), "each device does 1,024 FLOPs, not 512 (2 times as many)"),
        (lambda: assert_memory(lambda x: jnp.sin(x @ x) @ x, whole, temporary=9), "on each device: temporaries "),
        (lambda: assert_replicas_equal(state, "weights"), "weights['w'][:] should be the same everywhere, but is not"),
    ):
        with pytest.raises(pytest.fail.Exception, match=re.escape(said)):
            check()
    with pytest.raises(ValueError, match="nothing to compare with: give sent, most or only"):
        assert_traffic(gathered, many)
