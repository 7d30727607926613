"""FLOPs and bytes of programs compiled for TPUs that are not here, against arithmetic by hand: needs libtpu."""

import jax
import jax.numpy as jnp
import pytest
from jax import NamedSharding, P, lax

from minipod import pods
from minipod.hlo import text, work
from minipod.pods import compiler

pytestmark = pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")
MESH = {"x": 2, "y": 2}


@pytest.fixture(scope="module", autouse=True)
def warm():
    with pods.warm():
        yield


def array(shape, dtype=jnp.bfloat16):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(pods.mesh("v5e:2x2", **MESH), P()))


def alone(function, *arguments):
    """The same on each device, as kernels want it."""
    specs = dict(mesh=pods.mesh("v5e:2x2", **MESH), in_specs=P(), out_specs=P(), check_vma=False)
    return counted(jax.shard_map(function, **specs), *arguments)


def counted(function, *arguments):
    return work.work(text.parse(pods.compile(function, *arguments).text), unknown=1)


def test_rows_of_a_table_a_slice_and_the_larger_branch():
    """Of 1 GiB, 8 rows; of two matrices the branch that uses both. XLA's own count is 68,106,240."""

    def f(table, tokens, w):
        x = table[tokens]
        return lax.cond(tokens[0] > 3, lambda x: x @ w[0], lambda x: jnp.tanh(x @ w[0]) @ w[1], x)

    found = counted(f, array((65536, 4096)), array((8,), jnp.int32), array((2, 4096, 4096)))
    rows, weights = 2 * 8 * 4096 * 2, 2 * 4096 * 4096 * 2  # read and, at the end, written
    assert rows + weights <= found.moved <= rows + weights + 1024
    assert found.flops == {"bf16": 2 * 2 * 8 * 4096 * 4096}


def test_the_stacked_weights_of_a_loop_are_read_once():
    """int8, cast where they are used: nothing is written of that."""
    layers = 80

    def f(up, down, x):
        def layer(x, w):
            up, down = w
            return x + jnp.maximum(x @ up.astype(x.dtype), 0) @ down.astype(x.dtype), None

        return lax.scan(layer, x, (up, down))[0]

    weights = array((layers, 256, 1024), jnp.int8), array((layers, 1024, 256), jnp.int8)
    found = counted(f, *weights, array((8, 256)))
    once, x = 2 * layers * 256 * 1024, 2 * 8 * 256 * 2
    assert once + x <= found.moved <= once + x + 64 * (layers + 1)
    assert found.flops == {"bf16": layers * 2 * 2 * 8 * 256 * 1024}


def test_a_cache_that_is_written_in_place_is_read_and_one_row_of_it_written():
    def f(w, cache, x, t):
        def layer(state, w):
            i, x, cache = state
            cache = lax.dynamic_update_slice(cache, x[None, None], (i, t, 0, 0))
            scores = jnp.einsum("bd,tbd->bt", x, lax.dynamic_index_in_dim(cache, i, 0, keepdims=False))
            return (i + 1, (x + scores.sum(1, keepdims=True)) @ w, cache), None

        return lax.scan(layer, (0, x, cache), w)[0]

    shapes = (6, 256, 256), (6, 1024, 8, 256), (8, 256)
    found = counted(jax.jit(f, donate_argnums=1), *map(array, shapes), array((), jnp.int32))
    w, cache, x = (2 * jnp.prod(jnp.array(shape)).item() for shape in shapes)
    assert w + cache + 6 * x <= found.moved <= w + cache + 6 * x + 2 * x + 1024


def test_flash_attention_says_what_it_costs():
    from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention

    found = alone(lambda q, k, v: flash_attention(q, k, v, causal=True), *[array((1, 8, 1024, 128))] * 3)
    assert set(found.flops) == {"kernel"} and found.unseen == {}
    assert 0.5 < found.flops["kernel"] / (2 * 2 * 8 * 1024 * 1024 * 128) < 1.1  # causal, or all of it
    assert found.moved == 4 * 2 * 8 * 1024 * 128


def test_plain_attention_has_both_of_its_products_though_the_compiler_makes_a_kernel_of_one():
    def attention(q, k, v):
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * 64**-0.5
        return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((512, 1024), bool)), scores, -1e9)) @ v

    found = alone(attention, array((2, 4, 512, 64)), array((2, 4, 1024, 64)), array((2, 4, 1024, 64)))
    assert sum(found.flops.values()) == 2 * 2 * 2 * 4 * 512 * 1024 * 64 and found.unseen == {}
