"""Chapter 9's model on Explicit axes: its layouts stand in the types."""

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.ad_checkpoint import checkpoint_name

from lessons.ch09_training.model import LAYER

ROWS = P("data", None, None)  # of f32[rows, length, width]
F32 = jnp.float32


def layout(data=None, model=None):
    """A spec for each array: `data` cuts the width, `model` heads and MLP."""
    return {
        "embed": P(None, data),
        "position": P(None, data),
        "qkv": P(None, data, None, model, None),
        "out": P(None, model, None, data),
        "up": P(None, data, model),
        "down": P(None, model, data),
        "logits": P(data, None),
    }


def whole(name, w, specs, dtype=F32):
    """The whole width of w, as dtype; its gradient stays a part of a sum."""
    spec = [None if axis == "data" else axis for axis in specs[name]]
    spec = P(*spec[len(spec) - w.ndim :], reduced={"data"})
    return jax.reshard(w.astype(dtype), spec)


def not_whole(primitive, *_, **__):
    """Keep all that a layer computes, but no whole weight."""
    return primitive.name not in ("reshard", "convert_element_type")


def norm(x):
    y = x.astype(F32)
    y = y * lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + 1e-6)
    return y.astype(x.dtype)


def layer(x, w):
    q, k, v = jnp.einsum("bsd,dthk->tbshk", norm(x), w["qkv"])
    heads = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    heads = checkpoint_name(heads, "heads")
    x = x + jnp.einsum("bshk,hkd->bsd", heads, w["out"], out_sharding=ROWS)
    hidden = checkpoint_name(norm(x) @ w["up"], "hidden")
    return x + jnp.dot(jax.nn.gelu(hidden), w["down"], out_sharding=ROWS)


def loss(p, tokens, specs, dtype=F32, keep=not_whole):
    """Mean surprise at each next byte: tokens int32[rows, length + 1] cut
    over "data", p as specs say; dtype is what the layers compute in."""

    def full(name, w):
        return whole(name, w, specs, dtype)

    def one(x, w):
        return layer(x, {n: full(n, a) for n, a in w.items()}), None

    x = full("embed", p["embed"]).at[tokens[:, :-1]].get(out_sharding=ROWS)
    position = jnp.broadcast_to(full("position", p["position"]), x.shape)
    x = x + jax.reshard(position, ROWS)
    layers = {n: p[n] for n in LAYER}
    x, _ = lax.scan(jax.checkpoint(one, policy=keep), x, layers)
    w = full("logits", p["logits"])
    logits = jnp.dot(norm(x), w, preferred_element_type=F32)
    right = jax.nn.one_hot(tokens[:, 1:], w.shape[-1], dtype=F32)
    return -jnp.mean(jnp.sum(right * jax.nn.log_softmax(logits), axis=-1))
