"""A layer of experts on one device: which a token chooses, and the answers."""

import jax
import jax.numpy as jnp
from jax import lax


def drawn(key, width, hidden, experts):
    a, b, c = jax.random.split(key, 3)
    return {
        "router": jax.random.normal(a, (width, experts)) / width**0.5,
        "up": jax.random.normal(b, (experts, width, hidden)) / width**0.5,
        "down": jax.random.normal(c, (experts, hidden, width)) / hidden**0.5,
    }


def route(x, router, k=2):
    """(p, gate, who): the router's probabilities, [T, E]; of each token's k
    experts the gates, which sum to 1, and the numbers, [T, k]."""
    p = jax.nn.softmax(x.astype(jnp.float32) @ router)  # in f32, all of it
    gate, who = lax.top_k(p, k)
    return p, gate / gate.sum(-1, keepdims=True), who


def mlp(x, w):
    """x: [e, n, width], the rows of each of e experts."""
    inner = jax.nn.gelu(jnp.einsum("end,edh->enh", x, w["up"]))
    return jnp.einsum("enh,ehd->end", inner, w["down"])


def alone(w, x):
    """Every expert computes every token; the gates choose afterwards."""
    p, gate, who = route(x, w["router"])
    every = mlp(jnp.broadcast_to(x, (p.shape[-1], *x.shape)), w)
    weights = jnp.einsum("tk,tke->te", gate, jax.nn.one_hot(who, p.shape[-1]))
    return jnp.einsum("te,etd->td", weights, every).astype(x.dtype)
