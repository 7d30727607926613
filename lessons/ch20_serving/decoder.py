"""A decoder as it is served: RMS norm, rotary positions, grouped heads, SwiGLU.

Weights and cache are those of `arrays`; the mesh has the axes "h" and "r",
and both cut the weights.
"""

from functools import partial

import jax
import jax.numpy as jnp
from arrays import ALL, specs
from cuts import attention
from jax import lax
from jax.sharding import PartitionSpec as P


def norm(x, gain):
    y = x.astype(jnp.float32)
    y = y * lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6)
    return y.astype(x.dtype) * gain


def rotate(x, at):
    """x: [batch, time, heads, width], its times at the positions `at`, in
    float32: bfloat16 cannot tell 257 from 256."""
    half = x.shape[-1] // 2
    angle = at[:, None] * 5e5 ** (-jnp.arange(half) / half)
    sin, cos = jnp.sin(angle)[:, None], jnp.cos(angle)[:, None]
    a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    turned = jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
    return turned.astype(x.dtype)


def product(spec, x, w):
    """An int8 weight is read as int8: its scale comes after the product."""
    if isinstance(w, tuple):
        made = jnp.einsum(spec, x, w[0].astype(x.dtype))
        return (made * w[1]).astype(x.dtype)
    return jnp.einsum(spec, x, w)


def layer(x, cache, w, number, first, attention):
    """(x after one layer, the cache); w: this layer's weights."""
    at = (first + jnp.arange(x.shape[1])).astype(jnp.float32)
    y = norm(x, w["norm1"])
    q, k, v = (product("btd,dhe->bthe", y, w[name]) for name in "qkv")
    q, k = rotate(q, at), rotate(k, at)
    y, cache = attention(q, k, v, cache, number, first)
    x = x + lax.psum(product("bthe,hed->btd", y, w["o"]), ALL)
    y = norm(x, w["norm2"])
    gate, up = (product("btd,df->btf", y, w[name]) for name in ("gate", "up"))
    y = product("btf,fd->btd", jax.nn.silu(gate) * up, w["down"])
    return x + lax.psum(y, ALL), cache


def forward(tokens, first, w, cache, attention):
    """(logits of the last token, cut by words; the cache).

    tokens: i32[batch, time], at the positions `first`, `first` + 1 …
    """
    x = lax.all_gather(w["embed"][tokens], ALL, axis=2, tiled=True)
    layers = {n: a for n, a in w.items() if n not in ("embed", "head", "norm")}

    def one(carry, given):
        return layer(*carry, *given, first, attention), None

    numbers = jnp.arange(w["norm1"].shape[0], dtype=jnp.int32)
    (x, cache), _ = lax.scan(one, (x, cache), (layers, numbers))
    return product("bd,dv->bv", norm(x[:, -1], w["norm"]), w["head"]), cache


def program(s, mesh, cut, int8, attention=attention):
    """The jitted step (tokens, first, weights, cache), the cache donated."""
    weights, cache = specs(s, int8, cut)
    step = partial(forward, attention=partial(attention, cut=cut))
    step = jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(P(), P(), weights, cache),
        out_specs=(P(None, ALL), cache),
        check_vma=False,  # what is gathered counts as different on each device
    )
    return jax.jit(step, donate_argnums=3)
