"""Attention to some of the keys, and how two such parts become one."""

import jax.numpy as jnp
from jax import lax

LOW = -1e30  # the score of a key that is not seen; exp(LOW - LOW) would be 1


def part(q, k, v, q_at, k_at):
    """Causal attention to these keys alone, not yet divided by its weights.

    q: [b, i, h, d]; k, v: [b, j, g, d], g divides h.
    q_at, k_at: i32[i] and i32[j], positions in the sequence.
    Returns float32 (values [b, h, i, d], top and total [b, h, i, 1]): the
    weighted sum of v, the largest score, the sum of the weights.
    """
    k, v = (jnp.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    f32 = {"preferred_element_type": jnp.float32}
    scores = jnp.einsum("bihd,bjhd->bhij", q, k, **f32) * q.shape[3] ** -0.5
    seen = q_at[:, None] >= k_at
    scores = jnp.where(seen, scores, LOW)
    top = scores.max(axis=-1, keepdims=True)
    weights = jnp.where(seen, jnp.exp(scores - top), 0)
    values = jnp.einsum("bhij,bjhd->bhid", weights.astype(v.dtype), v, **f32)
    return values, top, weights.sum(axis=-1, keepdims=True)


def merge(a, b):
    """Two parts of the same queries, over different keys, as one."""
    top = jnp.maximum(a[1], b[1])
    scale_a, scale_b = jnp.exp(a[1] - top), jnp.exp(b[1] - top)
    values = a[0] * scale_a + b[0] * scale_b
    return values, top, a[2] * scale_a + b[2] * scale_b


def nothing(q):
    """The part over no keys: merged with another, it is the other."""
    values = jnp.zeros_like(q.swapaxes(1, 2), jnp.float32)
    return values, values[..., :1] + LOW, values[..., :1]


def divided(state, q):
    """The attention itself, as [b, i, h, d] in the type of q."""
    values, _, total = state
    return (values / total).swapaxes(1, 2).astype(q.dtype)


def attention(q, k, v, q_at, k_at, pieces=1):
    """Causal attention, the keys taken in so many pieces one after another.

    q, k, v, q_at, k_at: as for `part`; k_at begins with 0.
    """
    ks, vs = (jnp.stack(jnp.split(x, pieces, axis=1)) for x in (k, v))

    def one_more(state, piece):
        k, v, at = piece
        return merge(state, part(q, k, v, q_at, at)), None

    cut = ks, vs, k_at.reshape(pieces, -1)
    return divided(lax.scan(one_more, nothing(q), cut)[0], q)
