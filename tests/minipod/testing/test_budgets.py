"""Budgets of a test: they are kept, or what was found is said."""

import re
from types import SimpleNamespace

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
    assert_work(jax.jit(square).lower(whole).compile(), flops=1024)
    assert_traffic(jax.jit(gathered).lower(many).compile(), sent=28_672, along="i")
    assert_memory(lambda x: x + 1, like(8, 8), temporary=0, arguments=32)
    apart = [jax.device_put(np.full(4, float(device.id)), device) for device in jax.devices()]
    state = {"w": jax.make_array_from_single_device_arrays((4,), whole.sharding.update(spec=P()), apart)}
    for check, said in (
        (lambda: assert_traffic(gathered, many, sent=7_168), "each device sends 28,672 bytes, not 7,168"),
        (lambda: assert_traffic(gathered, many, only="all-reduce"), "found all-gather, but only all-reduce is allowed"),
        (lambda: assert_work(square, whole, flops=512), "each device does 1,024 FLOPs, not 512 (2 times as many)"),
        (lambda: assert_memory(lambda x: jnp.sin(x @ x) @ x, whole, temporary=9), "on each device: temporaries "),
        (lambda: assert_replicas_equal(state, "weights"), "weights['w'][:] should be the same everywhere, but is not"),
    ):
        with pytest.raises(pytest.fail.Exception, match=re.escape(said)):
            check()


def test_a_budget_that_could_not_fail_is_refused():
    many, alone = like(8, 1024), jax.ShapeDtypeStruct((8, 8), jnp.float32)
    for check, said in (
        (lambda: assert_traffic(gathered, many), "nothing to compare with: give sent, most or only"),
        (lambda: assert_traffic(gathered, many, most=float("nan")), "most is not a number"),
        (lambda: assert_traffic(gathered, many, most=1, along="j"), "along='j': the mesh has the axes i"),
        (lambda: assert_traffic(square, alone, only=()), "this program runs on one device, so it sends nothing"),
        (
            lambda: assert_traffic(compiled("mpi_allreduce"), most=1),
            "the bytes that the custom call mpi_allreduce sends cannot",
        ),
        (lambda: assert_work(compiled("tpu_custom_call"), most=1), "the FLOPs of k are unknown"),
        (lambda: assert_work(compiled("__cudnn$convForward"), most=1), "the FLOPs of __cudnn$convForward are unknown"),
        (lambda: assert_work(compiled("__onednn$conv2d"), most=1), "the FLOPs of __onednn$conv2d are unknown"),
        (lambda: assert_replicas_equal({"w": jnp.ones(3), "b": np.ones(3)}, "state"), "nothing to compare in state"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            check()


def compiled(target):
    """What looks like a function that jax.jit has compiled into a call of `target`."""
    call = f'custom-call(%p), custom_call_target="{target}", custom_call_has_side_effect=true'
    body = f"  %p = f32[8]{{0}} parameter(0)\n  %k = f32[8]{{0}} {call}\n"
    text = f"HloModule m\n\nENTRY %main (p: f32[8]) -> f32[8] {{\n{body}}}\n"
    done = SimpleNamespace(as_text=lambda: text, input_shardings=(), output_shardings=(), memory_analysis=None)
    wrapped = SimpleNamespace(compiled=done)  # as by equinox.filter_jit
    return SimpleNamespace(lower=lambda: SimpleNamespace(compile=lambda: wrapped))


def test_the_kinds_of_collectives_are_checked_also_in_a_loop_of_unknown_length():
    def until_large(x):
        return jax.lax.while_loop(lambda x: x.sum() < 9, lambda x: x + 1, x)

    assert_traffic(until_large, like(8, 8), only="all-reduce")
    with pytest.raises(pytest.fail.Exception, match="found all-reduce, but nothing may be sent"):
        assert_traffic(until_large, like(8, 8), only=())
    with pytest.raises(ValueError, match="an unknown number of times"):
        assert_traffic(until_large, like(8, 8), most=9)
