"""Tokens packed for their experts, sent, answered and sent back."""

from math import ceil

import jax.numpy as jnp
from chosen import mlp, route
from jax import lax


def places(factor, tokens, experts, k=2):
    """The capacity: places of a device with these tokens at one expert."""
    return ceil(factor * tokens * k / experts)


def queue(who, experts):
    """How many choices are ahead of each choice at its expert, [T, k]: all
    tokens' first choices come before all second ones."""
    e = who.T.reshape(-1)
    order = jnp.argsort(e)  # stable: equal ones stay in their order
    first = jnp.searchsorted(e[order], jnp.arange(experts))
    place = jnp.arange(e.size, dtype=e.dtype) - first[e[order]]
    return jnp.zeros_like(e).at[order].set(place).reshape(who.T.shape).T


def exchanged(box, w, axis):
    """box: [E, C, width], a row for each place at each expert → the answers,
    in the same places. axis: of the mesh; None: all experts are here."""
    if axis is None:
        return mlp(box, w)
    there = lax.all_to_all(box, axis, 0, 1, tiled=True)  # [E / n, n C, width]
    return lax.all_to_all(mlp(there, w), axis, 1, 0, tiled=True)


def experts(w, x, capacity, axis=None):
    """x: [T, width], this device's tokens. capacity: places that one device
    has at one expert. Returns (y, p, who, which choices were dropped)."""
    p, gate, who = route(x, w["router"])
    n, width = p.shape[-1], x.shape[-1]
    before = queue(who, n)
    late = before >= capacity
    slot = jnp.where(late, n * capacity, who * capacity + before)
    box = jnp.zeros((n * capacity, width), x.dtype)
    box = box.at[slot].set(x[:, None], mode="drop")
    box = box.reshape(n, capacity, width)
    back = exchanged(box, w, axis).reshape(-1, width)
    answers = back.at[slot].get(mode="fill", fill_value=0)
    y = jnp.sum(gate[..., None] * answers, 1).astype(x.dtype)
    return y, p, who, late


def balance(p, who, mean=lambda x: x):
    """E Σ f P: 1 where all is even. mean: over devices, of f and of P."""
    n = p.shape[-1]
    f = mean((who[..., None] == jnp.arange(n)).astype(p.dtype).mean((0, 1)))
    return n * jnp.sum(f * mean(p.mean(0)))
