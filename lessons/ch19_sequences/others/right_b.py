"""ch19_sequences solved a third way: backwards, in a loop of its own, on blocks of heads."""

import jax
import jax.numpy as jnp
from jax import P, lax


def merge_parts(values, tops, totals):
    """One after the other; where neither saw a key, nothing is scaled."""
    value, top, total = values[0], tops[0], totals[0]
    for new, its_top, its_total in zip(
        values[1:], tops[1:], totals[1:], strict=True
    ):
        high = jnp.maximum(top, its_top)
        safe = jnp.where(jnp.isneginf(high), 0, high)
        a, b = jnp.exp(top - safe), jnp.exp(its_top - safe)
        value = value * a[:, None] + new * b[:, None]
        top, total = high, total * a + its_total * b
    return value / total[:, None]


def window_attention(q, k, v, window, mesh):
    """A line, no ring: device 0 gets zeros, whose positions are below 0."""
    n = mesh.size
    length = q.shape[1] // n
    line = [(j, j + 1) for j in range(n - 1)]
    turns = 0
    while turns < n - 1 and window - 1 > turns * length:
        turns += 1

    def on_each(q, k, v):
        i = lax.axis_index("s")
        q_at = i * length + jnp.arange(length)

        def visit(r, carry):
            values, top, total, k, v = carry
            k_at = q_at - r * length
            far = q_at[:, None] - k_at[None]
            seen = (far >= 0) & (far < window) & (k_at >= 0)
            s = jnp.einsum("bihd,bjhd->bhij", q * q.shape[3] ** -0.5, k)
            new = jnp.maximum(top, jnp.where(seen, s, -1e30).max(-1))
            w = jnp.where(seen, jnp.exp(s - new[..., None]), 0)
            old = jnp.exp(top - new)
            values = values * old[..., None] + jnp.einsum(
                "bhij,bjhd->bhid", w, v
            )
            return values, new, total * old + w.sum(-1), k, v

        def turn(r, carry):
            *state, k, v = carry
            moved = [lax.ppermute(x, "s", line) for x in (k, v)]
            return visit(r, (*state, *moved))

        zero = jnp.zeros_like(q.swapaxes(1, 2))
        top, total = zero[..., 0] - 1e30, zero[..., 0]
        carry = visit(0, (zero, top, total, k, v))
        values, _, total, *_ = lax.fori_loop(1, turns + 1, turn, carry)
        return (values / total[..., None]).swapaxes(1, 2)

    spec = P(None, "s")
    return jax.shard_map(on_each, mesh=mesh, in_specs=spec, out_specs=spec)(
        q, k, v
    )


def ulysses_grouped(q, k, v, mesh):
    """All three in one all-to-all."""
    n = mesh.size

    def on_each(q, k, v):
        b, t, h, d = q.shape
        k, v = (jnp.repeat(x, n // x.shape[2], axis=2) for x in (k, v))
        q = q.reshape(b, t, n, h // n, d)
        packed = jnp.concatenate(
            [q, k[:, :, :, None], v[:, :, :, None]], axis=3
        )
        packed = lax.all_to_all(packed, "s", 2, 1, tiled=True)[:, :, 0]
        q, k, v = jnp.split(packed, [h // n, h // n + 1], axis=2)
        out = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return lax.all_to_all(out, "s", 1, 2, tiled=True)

    return jax.shard_map(
        on_each, mesh=mesh, in_specs=P(None, "s"), out_specs=P(None, "s")
    )(q, k, v)


def rotary(x, mesh):
    """From the row's own number in the whole array, without a shard_map."""
    n, pairs = mesh.size, x.shape[1] // 2
    half = len(x) // (2 * n)
    row = lax.iota(jnp.int32, len(x))
    device, second = row // (2 * half), row // half % 2
    chunk = jnp.where(second == 0, device, 2 * n - 1 - device)
    at = chunk * half + row % half
    angle = at[:, None] / 10000.0 ** (jnp.arange(pairs) / pairs)
    cos, sin = (jnp.tile(f(angle), 2) for f in (jnp.cos, jnp.sin))
    other = jnp.concatenate([-x[:, pairs:], x[:, :pairs]], axis=1)
    spec = jax.NamedSharding(mesh, P("s"))
    return lax.with_sharding_constraint(x * cos + other * sin, spec)


def cheapest_way(heads, groups, block, n):
    sizes = [block * heads // groups] * 2 + [block] * 2
    exchanged = sum(size * (n - 1) // n for size in sizes)
    around = sum(block + block for _ in range(1, n))
    possible = groups / n == groups // n
    if possible and exchanged < around:
        return "ulysses", exchanged
    return "ring", around
