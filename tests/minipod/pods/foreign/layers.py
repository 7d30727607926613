"""Training of a small decoder, as people put it together: a scan of layers, each computed twice, weights cut over both
axes.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import P, lax
from shaped import array

LAYERS, WIDTH, HEADS, VOCABULARY = 8, 256, 4, 1024
ROWS, TOKENS = 8, 256
SPECS = {"qkv": P(None, "data", "model"), "out": P(None, "model", "data")}
SPECS |= {"up": P(None, "data", "model"), "down": P(None, "model", "data")}


def _plain(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jax.nn.softmax(jnp.where(seen, scores, -1e9), axis=-1).astype(v.dtype) @ v


def _flash(mesh):
    from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention

    heads = P("data", "model")
    here = partial(flash_attention, causal=True, sm_scale=128**-0.5)
    return jax.shard_map(here, mesh=mesh, in_specs=heads, out_specs=heads, check_vma=False)


def _train(mesh, attention, width):
    """A step of descent with momentum, by the loss of the next token."""

    def layer(x, w):
        b, t, _ = x.shape
        q, k, v = ((x @ w["qkv"]).reshape(b, t, 3, HEADS, width)).transpose(2, 0, 3, 1, 4)
        x = x + attention(q, k, v).transpose(0, 2, 1, 3).reshape(b, t, HEADS * width) @ w["out"]
        return x + jax.nn.gelu(x @ w["up"]) @ w["down"], None

    def loss(weights, tokens):
        x = weights["embedding"][tokens]
        x = lax.scan(jax.checkpoint(layer), x, weights["layers"])[0]
        chances = jax.nn.log_softmax((x @ weights["embedding"].T).astype(jnp.float32))
        return -jnp.take_along_axis(chances[:, :-1], tokens[:, 1:, None], -1).mean()

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(weights, moments, tokens):
        value, grads = jax.value_and_grad(loss)(weights, tokens)
        moments = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments, grads)
        return jax.tree.map(lambda w, m: w - 1e-3 * m, weights, moments), moments, value

    inner = HEADS * width
    shapes = {"qkv": (WIDTH, 3 * inner), "out": (inner, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    held = partial(array, mesh, dtype=jnp.bfloat16)
    weights = {"layers": {name: held((LAYERS, *shape), *SPECS[name]) for name, shape in shapes.items()}}
    weights["embedding"] = held((VOCABULARY, WIDTH), "model", "data")
    return step, (weights, weights, array(mesh, (ROWS, TOKENS), "data", dtype=jnp.int32))


def no_kernel(mesh):
    """Eight layers with attention in plain jax.numpy."""
    return _train(mesh, _plain, width=64)


def flash(mesh):
    """The same with JAX's flash attention, in shard_map inside of the scan."""
    return _train(mesh, _flash(mesh), width=128)
