"""Wrong answers of ch20_serving that its mistakes.py does not know."""

import jax.numpy as jnp

from lessons.ch20_serving import mistakes


def attend_cut__one_too_many(q, k, v, filled, mesh):
    from solutions.ch20_serving import attend_cut

    return attend_cut(q, k, v, jnp.minimum(filled + 1, k.shape[1]), mesh)


def attend_cut__summed_again(q, k, v, filled, mesh):
    """Every device has the whole attention; their sum is n times too large."""
    from solutions.ch20_serving import attend_cut

    return attend_cut(q, k, v, filled, mesh) * mesh.size


def write_token__one_further(cache, new, at, mesh):
    from solutions.ch20_serving import write_token

    return write_token(cache, new, (at + 1) % cache.shape[0], mesh)


def write_token__from_behind(cache, new, at, mesh):
    from solutions.ch20_serving import write_token

    return write_token(cache, new, cache.shape[0] - 1 - at, mesh)


def decode_step__not_masked_after_window(x, w, k, v, at, mesh):
    return mistakes._step(
        x, w, k, v, at, mesh, seen=lambda t, at: (t <= at) & (t > 0)
    )


def decode_step__summed_again(x, w, k, v, at, mesh):
    from solutions.ch20_serving import decode_step

    out, k, v = decode_step(x, w, k, v, at, mesh)
    return out * mesh.size, k, v


def attend_int8__from_minus_1_to_1(q, k, k_scale, v, v_scale):
    """As if the scale were the largest number, and not a step."""
    from solutions.ch20_serving import attend_int8

    return attend_int8(q, k, k_scale, v, v_scale) / 127


def attend_int8__k_scale_twice(q, k, k_scale, v, v_scale):
    return mistakes._int8(q, k, v, k_scale.T[:, None] ** 2, v_scale.T[:, None])


def step_bytes__all_devices(weights, position, heads, batch, length, n, rest):
    from solutions.ch20_serving import step_bytes

    return n * step_bytes(weights, position, heads, batch, length, n, rest)


def step_bytes__in_bits(weights, position, heads, batch, length, n, rest):
    from solutions.ch20_serving import step_bytes

    return 8 * step_bytes(weights, position, heads, batch, length, n, rest)
