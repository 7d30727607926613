"""ch19_sequences, solved."""

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


def merge_parts(
    values: jax.Array, tops: jax.Array, totals: jax.Array
) -> jax.Array:
    scale = jnp.exp(tops - tops.max(axis=0))  # 0 for a part that saw nothing
    values = (values * scale[..., None]).sum(axis=0)
    return values / (totals * scale).sum(axis=0)[:, None]


def window_attention(
    q: jax.Array, k: jax.Array, v: jax.Array, window: int, mesh: Mesh
) -> jax.Array:
    n = mesh.size
    t = q.shape[1] // n
    turns = min(-(-(window - 1) // t), n - 1)  # blocks before one's own
    ahead = [(j, (j + 1) % n) for j in range(n)]

    def part(q, k, v, i, owner):
        far = i * t + jnp.arange(t)[:, None] - owner * t - jnp.arange(t)
        seen = (far >= 0) & (far < window)
        scores = jnp.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5
        scores = jnp.where(seen, scores, -1e30)
        top = scores.max(axis=-1, keepdims=True)
        weights = jnp.where(seen, jnp.exp(scores - top), 0)
        values = jnp.einsum("bhij,bjhd->bhid", weights, v)
        return values, top, weights.sum(axis=-1, keepdims=True)

    def merge(a, b):
        top = jnp.maximum(a[1], b[1])
        old, new = jnp.exp(a[1] - top), jnp.exp(b[1] - top)
        return a[0] * old + b[0] * new, top, a[2] * old + b[2] * new

    def on_each(q, k, v):
        i = lax.axis_index("s")

        def turn(carry, r):
            state, k, v = carry
            k, v = (lax.ppermute(x, "s", ahead) for x in (k, v))
            owner = (i - r) % n  # for i < r of a later block: all is masked
            return (merge(state, part(q, k, v, i, owner)), k, v), None

        begin = part(q, k, v, i, i), k, v
        (state, _, _), _ = lax.scan(turn, begin, jnp.arange(1, turns + 1))
        return (state[0] / state[2]).swapaxes(1, 2)

    cut = P(None, "s")
    return jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=cut)(
        q, k, v
    )


def ulysses_grouped(
    q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh
) -> jax.Array:
    def on_each(q, k, v):
        copies = mesh.size // k.shape[2]
        k, v = (jnp.repeat(x, copies, axis=2) for x in (k, v))
        q, k, v = (
            lax.all_to_all(x, "s", split_axis=2, concat_axis=1, tiled=True)
            for x in (q, k, v)
        )
        out = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return lax.all_to_all(out, "s", split_axis=1, concat_axis=2, tiled=True)

    cut = P(None, "s")
    return jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=cut)(
        q, k, v
    )


def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    def on_each(x):
        n, i, half = mesh.size, lax.axis_index("s"), x.shape[0] // 2
        at = jnp.arange(half)
        at = jnp.concatenate([i * half + at, (2 * n - 1 - i) * half + at])
        pairs = x.shape[1] // 2
        speed = 10000.0 ** (-jnp.arange(pairs) / pairs)
        angle = at[:, None] * speed
        a, b = jnp.split(x, 2, axis=1)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)

    cut = P("s")
    return jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=cut)(x)


def cheapest_way(heads: int, groups: int, block: int, n: int) -> tuple:
    ring = 2 * (n - 1) * block
    query_block = block * heads // groups
    ulysses = 2 * (n - 1) * (query_block + block) // n
    if groups % n or ulysses >= ring:
        return "ring", ring
    return "ulysses", ulysses
