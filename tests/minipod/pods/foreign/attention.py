"""Kernels that come with JAX, as people call them: in shard_map, batch and heads cut."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P
from shaped import array

HEADS = P("data", "model")  # of (batch, heads, sequence, width)


def _mapped(mesh, function, arguments, result):
    specs = tuple(a.sharding.spec for a in arguments)
    mapped = jax.shard_map(function, mesh=mesh, in_specs=specs, out_specs=result, check_vma=False)
    return jax.jit(mapped), arguments


def _heads(mesh, sequence=1024):
    return array(mesh, (4, 8, sequence, 128), *HEADS, dtype=jnp.bfloat16)


def flash(mesh):
    """Flash attention, forward."""
    from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention

    return _mapped(mesh, lambda q, k, v: flash_attention(q, k, v, causal=True), (_heads(mesh),) * 3, HEADS)


def flash_gradient(mesh):
    """Flash attention, forward and backward."""
    from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention

    def gradient(q, k, v):
        return jax.grad(lambda *a: flash_attention(*a, causal=True).astype(jnp.float32).sum(), argnums=(0, 1, 2))(
            q, k, v
        )

    return _mapped(mesh, gradient, (_heads(mesh),) * 3, (HEADS,) * 3)


def flash_without_map(mesh):
    """Outside shard_map: XLA cannot cut it."""
    from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention

    return jax.jit(lambda q, k, v: flash_attention(q, k, v)), (_heads(mesh),) * 3


def splash(mesh):
    """Splash attention, whose names and options stand in several lines of the compiled text."""
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel, splash_attention_mask

    mask = splash_attention_mask.MultiHeadMask([splash_attention_mask.CausalMask((1024, 1024)) for _ in range(4)])
    with jax.ensure_compile_time_eval():
        kernel = splash_attention_kernel.make_splash_mha_single_device(mask)

    return _mapped(mesh, lambda q, k, v: jax.vmap(kernel)(q, k, v), (_heads(mesh),) * 3, HEADS)


def splash_gradient(mesh):
    """Splash attention, forward and backward, made while it is traced."""
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel, splash_attention_mask

    def gradient(q, k, v):
        mask = splash_attention_mask.MultiHeadMask([splash_attention_mask.CausalMask((1024, 1024)) for _ in range(4)])
        kernel = splash_attention_kernel.make_splash_mha_single_device(mask)
        return jax.grad(lambda q: jax.vmap(kernel)(q, k, v).astype(jnp.float32).sum())(q)

    return _mapped(mesh, gradient, (_heads(mesh),) * 3, HEADS)


def paged(mesh):
    """Paged attention: one new token for each sequence."""
    from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention

    q = array(mesh, (8, 16, 128), None, "model", dtype=jnp.bfloat16)
    pages = array(mesh, (8, 128, 16, 128), "model", dtype=jnp.bfloat16)
    numbers = array(mesh, (8,), dtype=jnp.int32), array(mesh, (8, 16), dtype=jnp.int32)

    def attend(q, k, v, lengths, at):
        return paged_attention(q, k, v, lengths, at, pages_per_compute_block=4)

    return _mapped(mesh, attend, (q, pages, pages, *numbers), P(None, "model"))


def ragged_paged(mesh):
    """Ragged paged attention: prefill and decoding in one."""
    from jax.experimental.pallas.ops.tpu.ragged_paged_attention import ragged_paged_attention

    q = array(mesh, (64, 16, 128), None, "model", dtype=jnp.bfloat16)
    pages = array(mesh, (64, 16, 8, 128), None, None, "model", dtype=jnp.bfloat16)
    shapes = (8,), (8, 8), (9,), (1,)
    numbers = (array(mesh, shape, dtype=jnp.int32) for shape in shapes)

    def attend(q, pages, lengths, at, starts, number):
        return ragged_paged_attention(
            q, pages, lengths, at, starts, number, num_kv_pages_per_block=4, num_queries_per_block=16
        )

    return _mapped(mesh, attend, (q, pages, *numbers), P(None, "model"))


def grouped_product(mesh):
    """Megablox: experts with as many rows as came to each."""
    from jax.experimental.pallas.ops.tpu.megablox import gmm

    x = array(mesh, (512, 256), "data", dtype=jnp.bfloat16)
    w = array(mesh, (8, 256, 512), None, None, "model", dtype=jnp.bfloat16)
    sizes = array(mesh, (8,), dtype=jnp.int32)
    return _mapped(mesh, lambda x, w, sizes: gmm(x, w, sizes, interpret=False), (x, w, sizes), P("data", "model"))


def product(mesh):
    """The matrix product among JAX's examples."""
    from jax.experimental.pallas.ops.tpu.matmul import matmul

    x = array(mesh, (1024, 1024), "data", dtype=jnp.bfloat16)
    w = array(mesh, (1024, 1024), None, "model", dtype=jnp.bfloat16)
    return _mapped(mesh, lambda x, w: matmul(x, w, block_shape=(256, 256)), (x, w), HEADS)


def gathered(mesh):
    """JAX's own all_gather by remote copies."""
    from jax.experimental.pallas.ops.tpu.all_gather import all_gather

    step = jax.jit(lambda x: all_gather(x, mesh=mesh, axis_name="model"))
    return step, (array(mesh, (256, 256), "model"),)


def of_jax_nn(mesh):
    """jax.nn.dot_product_attention: XLA's own, no kernel."""
    q = array(mesh, (4, 1024, 8, 128), "data", None, "model", dtype=jnp.bfloat16)
    return jax.jit(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True)), (q,) * 3


def masked(mesh):
    """The same with a mask of NumPy that the function closes over."""
    mask = np.tril(np.ones((1024, 1024), bool))
    q = array(mesh, (4, 1024, 8, 128), "data", None, "model", dtype=jnp.bfloat16)
    return jax.jit(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, mask=mask[None, None])), (q,) * 3
