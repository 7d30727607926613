"""Causal attention of a sequence that is cut along the mesh axis "s".

Each is what one device does: q is its block [b, t, h, d], k and v are its
blocks [b, t, g, d]; it returns its block of the result. pieces: of the keys,
for `parts.attention`.
"""

import jax.numpy as jnp
from jax import lax
from parts import attention


def gathered(q, k, v, pieces=1):
    """Every device has its own queries, and all keys and values."""
    t = q.shape[1]
    k, v = (lax.all_gather(x, "s", axis=1, tiled=True) for x in (k, v))
    mine = lax.axis_index("s") * t + jnp.arange(t)
    return attention(q, k, v, mine, jnp.arange(k.shape[1]), pieces)


def ulysses(q, k, v, pieces=1):
    """Every device has all positions, of some heads, while it attends."""
    there = {"split_axis": 2, "concat_axis": 1, "tiled": True}
    q, k, v = (lax.all_to_all(x, "s", **there) for x in (q, k, v))
    at = jnp.arange(q.shape[1])
    out = attention(q, k, v, at, at, pieces)
    return lax.all_to_all(out, "s", split_axis=1, concat_axis=2, tiled=True)
