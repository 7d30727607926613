"""A byte-level transformer, small enough to read in one go."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LENGTH, WIDTH, HEADS, HIDDEN, LAYERS = 32, 64, 8, 256, 4
SHAPES = {
    "embed": (256, WIDTH),  # one row for each value of a byte
    "position": (LENGTH, WIDTH),
    "qkv": (LAYERS, WIDTH, 3, HEADS, WIDTH // HEADS),
    "out": (LAYERS, HEADS, WIDTH // HEADS, WIDTH),
    "up": (LAYERS, WIDTH, HIDDEN),
    "down": (LAYERS, HIDDEN, WIDTH),
    "logits": (WIDTH, 256),
}
LAYER = ("qkv", "out", "up", "down")  # what every layer has of its own


def init(key):
    """Random parameters, f32, by name."""
    ends = np.cumsum([np.prod(shape) for shape in SHAPES.values()])
    drawn = jnp.split(
        0.08 * jax.random.normal(key, (int(ends[-1]),)), ends[:-1]
    )
    pairs = zip(SHAPES.items(), drawn, strict=True)
    return {name: x.reshape(shape) for (name, shape), x in pairs}


def norm(x):
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def layer(x, w, total):
    """x: f32[rows, LENGTH, WIDTH], plus what attention and the MLP say."""
    q, k, v = jnp.einsum("bsd,dthk->tbshk", norm(x), w["qkv"])
    heads = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + total(jnp.einsum("bshk,hkd->bsd", heads, w["out"]))
    return x + total(jax.nn.gelu(norm(x) @ w["up"]) @ w["down"])


WHOLE = "all_gather", "sharding_constraint", "reshard"  # make a weight whole


def not_whole(primitive, *_, **__):
    return not primitive.name.startswith(WHOLE)


def loss(params, tokens, whole=None, total=None, keep=not_whole):
    """Mean surprise, in nats, at each next byte; tokens: [rows, LENGTH + 1].

    whole(name, w) makes the whole array of what a device holds of it;
    total(x) adds up the devices' parts of a result;
    keep(operation) says whose results a layer keeps for the backward pass.
    """
    whole = whole or (lambda name, w: w)
    total = total or (lambda x: x)

    def one(x, w):
        return layer(x, {n: whole(n, a) for n, a in w.items()}, total), None

    x = whole("embed", params["embed"])[tokens[:, :-1]]
    x = x + whole("position", params["position"])
    layers = {n: params[n] for n in LAYER}
    x, _ = lax.scan(jax.checkpoint(one, policy=keep), x, layers)
    logits = norm(x) @ whole("logits", params["logits"])
    right = jax.nn.one_hot(tokens[:, 1:], 256)
    return -jnp.mean(jnp.sum(right * jax.nn.log_softmax(logits), axis=-1))
