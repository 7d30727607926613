"""Wrong answers of ch20_serving that its mistakes.py does not know."""

import jax
import jax.numpy as jnp
from jax import P, lax

from lessons.ch20_serving import mistakes


def attend_cut__one_too_many(q, k, v, filled, mesh):
    from solutions.ch20_serving import attend_cut

    return attend_cut(q, k, v, jnp.minimum(filled + 1, k.shape[1]), mesh)


def attend_cut__not_scaled_by_width(q, k, v, filled, mesh):
    from solutions.ch20_serving import attend_cut

    return attend_cut(q * q.shape[-1] ** 0.5, k, v, filled, mesh)


def attend_cut__filled_on_each(q, k, v, filled, mesh):
    """Compares a device's own rows with filled."""

    def on_each(q, k, v, filled):
        scores = jnp.einsum("bhd,bthd->bht", q, k) * q.shape[-1] ** -0.5
        scores = jnp.where(jnp.arange(k.shape[1]) < filled, scores, -1e30)
        top = lax.pmax(scores.max(-1, keepdims=True), "s")
        p = jnp.exp(scores - top)
        values = lax.psum(jnp.einsum("bht,bthd->bhd", p, v), "s")
        return values / lax.psum(p.sum(-1, keepdims=True), "s") * 0.5

    cut = P(None, "s")
    return jax.shard_map(
        on_each, mesh=mesh, in_specs=(P(), cut, cut, P()), out_specs=P()
    )(q, k, v, filled)


def write_token__one_further(cache, new, at, mesh):
    from solutions.ch20_serving import write_token

    return write_token(cache, new, (at + 1) % cache.shape[0], mesh)


def write_token__added(cache, new, at, mesh):
    def write(cache, new, row):
        mine = (row >= 0) & (row < len(cache))
        row = jnp.clip(row, 0, len(cache) - 1)
        return cache.at[row].add(jnp.where(mine, new, 0))

    return mistakes._written(cache, new, at, mesh, write)


def decode_step__not_masked_after_window(x, w, k, v, at, mesh):
    return mistakes._step(
        x, w, k, v, at, mesh, seen=lambda t, at: (t <= at) & (t > 0)
    )


def decode_step__one_position_late(x, w, k, v, at, mesh):
    from solutions.ch20_serving import decode_step

    return decode_step(x, w, k, v, at + 1, mesh)


def attend_int8__no_scales(q, k, k_scale, v, v_scale):
    return mistakes._int8(q, k, v, 1.0, 1.0)


def attend_int8__k_scale_twice(q, k, k_scale, v, v_scale):
    return mistakes._int8(q, k, v, k_scale.T[:, None] ** 2, v_scale.T[:, None])


def step_bytes__length_once(weights, position, heads, batch, length, n, rest):
    return (weights + length * position) // n


def step_bytes__added_up(weights, position, heads, batch, length, n, rest):
    return weights + batch * length * position
