"""The ring, with the work of a causal mask dealt out evenly."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from parts import divided, merge, part
from ring import on


def order(n, length):
    """i64[length]: which position lies where, so that device i of n has
    chunks i and 2 n - 1 - i of 2 n."""
    if length % (2 * n):
        raise ValueError(f"{n} devices need a multiple of {2 * n} positions")
    chunks = np.arange(length).reshape(2 * n, -1)
    pairs = [(chunks[i], chunks[2 * n - 1 - i]) for i in range(n)]
    return np.concatenate([chunk for pair in pairs for chunk in pair])


def zigzag(q, k, v):
    """As `ring.ring`, for blocks in this order: of each block that comes by
    two of the four pairs of halves are seen whole, two not at all."""
    n, i, half = lax.axis_size("s"), lax.axis_index("s"), q.shape[1] // 2
    order(n, n * q.shape[1])  # raises if a block has no two halves
    at, before = jnp.arange(half), jnp.full(half, -1)  # before: all is seen
    (q0, q1), (k0, k1), (v0, v1) = (jnp.split(x, 2, axis=1) for x in (q, k, v))

    def attend(early, late, k, v, r):
        (k0, k1), (v0, v1) = (jnp.split(x, 2, axis=1) for x in (k, v))
        late = merge(late, part(q1, k0, v0, at, before))
        # from a device before: its first half, by the early queries; from one
        # behind: its second half, by the late ones
        pick = partial(jnp.where, (i - r) % n < i)
        old = jax.tree.map(pick, early, late)
        new = part(pick(q0, q1), pick(k0, k1), pick(v0, v1), at, before)
        both = merge(old, new)
        return jax.tree.map(pick, both, early), jax.tree.map(pick, late, both)

    def turn(carry, r):
        early, late, k, v = carry
        return (*attend(early, late, k, v, r), *on(k, v)), None

    early = part(q0, k0, v0, at, at)
    late = merge(part(q1, k1, v1, at, at), part(q1, k0, v0, at, before))
    if n > 1:  # with one device, no block comes by
        begin = early, late, *on(k, v)
        (early, late, k, v), _ = lax.scan(turn, begin, jnp.arange(1, n - 1))
        early, late = attend(early, late, k, v, n - 1)
    return jnp.concatenate([divided(early, q), divided(late, q)], axis=1)
