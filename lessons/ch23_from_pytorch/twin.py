"""The twin in JAX: the model, the optimizer and the step of net.py, ddp.py."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

LENGTH, WIDTH, HEADS, LAYERS = 32, 32, 4, 2
TABLES = "embed.weight", "position.weight"


class How(NamedTuple):
    """What PyTorch means where it is not told otherwise."""

    eps: float = 1e-5  # of a LayerNorm
    tanh: bool = False  # gelu by its formula with tanh, not with erf
    decay: float = 1e-2  # of AdamW
    beta2: float = 0.999
    extra: float = 1e-6  # added to the norm by which one clips
    own: bool = True  # attention written out, in the dtype of its input
    half: str = ""  # the dtype of products, as under autocast


def taken(there):
    """PyTorch's arrays by their names; a Linear's is [out, in] there."""
    turned = {n for n, w in there.items() if w.ndim == 2} - {*TABLES}
    return {n: w.T if n in turned else w for n, w in there.items()}


def linear(w, name, x, how):
    x, a, b = x, w[f"{name}.weight"], w[f"{name}.bias"]
    if how.half:
        x, a, b = (y.astype(how.half) for y in (x, a, b))
    return x @ a + b


def norm(w, name, x, how):
    x = x - x.mean(-1, keepdims=True)
    x = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + how.eps)
    return x * w[f"{name}.weight"] + w[f"{name}.bias"]


def attend(q, k, v):  # [rows, length, heads, …]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    scores = jnp.where(jnp.tri(q.shape[1], dtype=bool), scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def library(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def block(w, name, x, how):
    qkv = linear(w, f"{name}.qkv", norm(w, f"{name}.norm1", x, how), how)
    q, k, v = jnp.moveaxis(qkv.reshape(*x.shape[:2], 3, HEADS, -1), 2, 0)
    a = (attend if how.own else library)(q, k, v).reshape(x.shape)
    x = x + linear(w, f"{name}.out", a, how)
    up = linear(w, f"{name}.up", norm(w, f"{name}.norm2", x, how), how)
    up = jax.nn.gelu(up, approximate=how.tanh)
    return x + linear(w, f"{name}.down", up, how)


def loss(w, tokens, how=How()):  # noqa: B008
    """tokens: [rows, LENGTH + 1]."""
    x = w["embed.weight"][tokens[:, :-1]] + w["position.weight"]
    for i in range(LAYERS):
        x = block(w, f"blocks.{i}", x, how)
    logits = linear(w, "logits", norm(w, "norm", x, how), how)
    logits = logits.astype(w["logits.bias"].dtype)
    nats = optax.softmax_cross_entropy_with_integer_labels(
        logits, tokens[:, 1:]
    )
    return nats.mean()


def clip(most, extra):
    """As PyTorch clips; Optax's clip_by_global_norm adds nothing."""

    def by_the_norm(g, _):
        times = jnp.minimum(1, most / (optax.tree.norm(g) + extra))
        return jax.tree.map(lambda x: x * times, g)

    return optax.stateless(by_the_norm)


def optimizer(how=How()):  # noqa: B008
    adam = optax.adamw(3e-3, b2=how.beta2, weight_decay=how.decay)
    return optax.chain(clip(0.5, how.extra), adam)


def step(state, tokens, how=How()):  # noqa: B008
    """state: (weights, the optimizer's). tokens: [micro-batches, rows, …]."""
    w, moments = state

    def add(total, rows):
        found = jax.value_and_grad(loss)(w, rows, how)
        return jax.tree.map(jnp.add, total, found), None

    zeros = (
        jnp.zeros((), w["logits.bias"].dtype),
        jax.tree.map(jnp.zeros_like, w),
    )
    total, _ = lax.scan(add, zeros, tokens)
    value, g = jax.tree.map(lambda x: x / len(tokens), total)
    change, moments = optimizer(how).update(g, moments, w)
    return (optax.apply_updates(w, change), moments), value
