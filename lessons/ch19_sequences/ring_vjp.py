"""The ring with a backward pass of its own, which keeps no scores."""

import jax
import jax.numpy as jnp
from jax import lax
from parts import divided, merge, nothing, part
from ring import on

F32 = {"preferred_element_type": jnp.float32}


@jax.custom_vjp
def ring_vjp(q, k, v):
    """As `ring.ring`, its gradient without the scores of the forward pass."""
    return forward(q, k, v)[0]


def places(q, r):
    """Positions of the queries, and of the keys that are here in turn r."""
    n, i, t = lax.axis_size("s"), lax.axis_index("s"), q.shape[1]
    return (j * t + jnp.arange(t) for j in (i, (i - r) % n))


def forward(q, k, v):
    n = lax.axis_size("s")

    def turn(carry, r):
        state, k, v = carry
        coming = on(k, v)
        return (merge(state, part(q, k, v, *places(q, r))), *coming), None

    begin, turns = (nothing(q), k, v), jnp.arange(n - 1)
    (state, last_k, last_v), _ = lax.scan(turn, begin, turns)
    state = merge(state, part(q, last_k, last_v, *places(q, n - 1)))
    out, (_, top, total) = divided(state, q), state
    return out, (q, k, v, out, top + jnp.log(total))


def backward(kept, d_out):
    """Keys and values go round again, each block with its own gradients."""
    q, k, v, out, log_total = kept
    n, scale = lax.axis_size("s"), q.shape[3] ** -0.5
    inner = jnp.einsum("bihd,bihd->bhi", d_out, out, **F32)[..., None]

    def of_heads(x, like):  # the sum over queries' heads that share a key's
        b, j, g, d = like.shape
        return x.reshape(b, j, g, -1, d).sum(axis=3)

    def more(k, v, r):
        q_at, k_at = places(q, r)
        kk, vv = (jnp.repeat(x, q.shape[2] // x.shape[2], 2) for x in (k, v))
        scores = jnp.einsum("bihd,bjhd->bhij", q, kk, **F32) * scale
        seen = q_at[:, None] >= k_at
        weights = jnp.where(seen, jnp.exp(scores - log_total), 0)  # divided
        d_weights = jnp.einsum("bihd,bjhd->bhij", d_out, vv, **F32)
        d_scores = (weights * (d_weights - inner) * scale).astype(q.dtype)
        weights = weights.astype(q.dtype)
        dq = jnp.einsum("bhij,bjhd->bihd", d_scores, kk, **F32)
        dk = jnp.einsum("bhij,bihd->bjhd", d_scores, q, **F32)
        dv = jnp.einsum("bhij,bihd->bjhd", weights, d_out, **F32)
        return dq, of_heads(dk, k), of_heads(dv, v)

    def turn(carry, r):
        sums, k, v = carry
        coming = on(k, v)
        dq, dk, dv = map(jnp.add, sums, more(k, v, r))
        return ((dq, *on(dk, dv)), *coming), None

    zeros = tuple(jnp.zeros_like(x, jnp.float32) for x in (q, k, v))
    begin, turns = (zeros, k, v), jnp.arange(n - 1)
    (sums, k, v), _ = lax.scan(turn, begin, turns)
    dq, dk, dv = map(jnp.add, sums, more(k, v, n - 1))
    dk, dv = on(dk, dv)  # home
    return dq.astype(q.dtype), dk.astype(q.dtype), dv.astype(q.dtype)


ring_vjp.defvjp(forward, backward)
