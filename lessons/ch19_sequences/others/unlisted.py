"""Wrong answers of ch19_sequences that its mistakes.py does not know."""

import jax
import jax.numpy as jnp
from jax import P, lax

from lessons.ch19_sequences import mistakes


def merge_parts__last_part(values, tops, totals):
    return values[-1] / totals[-1][:, None]


def merge_parts__scale_turned(values, tops, totals):
    scale = jnp.exp(tops.max(axis=0) - tops)
    values = (values * scale[..., None]).sum(axis=0)
    return values / (totals * scale).sum(axis=0)[:, None]


def merge_parts__one_top_for_all(values, tops, totals):
    """Underflows where another query's scores are far higher."""
    scale = jnp.exp(tops - tops.max())
    values = (values * scale[..., None]).sum(axis=0)
    return values / (totals * scale).sum(axis=0)[:, None]


def window_attention__window_open(q, k, v, window, mesh):
    """One position too many."""
    turns = mistakes._back(q, window, mesh)
    return mistakes._window(q, k, v, window + 1, mesh, turns)


def window_attention__whole_past(q, k, v, window, mesh):
    turns = mistakes._back(q, window, mesh)
    return mistakes._window(q, k, v, q.shape[1], mesh, turns)


def window_attention__own_block_only(q, k, v, window, mesh):
    return mistakes._window(q, k, v, window, mesh, 0)


def ulysses_grouped__first_head(q, k, v, mesh):
    def more(x, q):
        return jnp.repeat(x[:, :, :1], mesh.size, axis=2)

    return mistakes._ulysses(q, k, v, mesh, more)


def ulysses_grouped__gathered(q, k, v, mesh):
    def on_each(q, k, v):
        n, t = mesh.size, q.shape[1]
        i = lax.axis_index("s")
        k, v = (lax.all_gather(x, "s", axis=1, tiled=True) for x in (k, v))
        mask = i * t + jnp.arange(t)[:, None] >= jnp.arange(n * t)
        return jax.nn.dot_product_attention(q, k, v, mask=mask[None, None])

    cut = P(None, "s")
    f = jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=cut)
    return f(q, k, v)


def rotary__other_way(x, mesh):
    def places(i, t):
        n, at = mesh.size, jnp.arange(t // 2)
        half = t // 2
        return -jnp.concatenate([i * half + at, (2 * n - 1 - i) * half + at])

    return mistakes._rotated(x, mesh, places)


def rotary__second_chunk_backwards(x, mesh):
    def places(i, t):
        n, at, half = mesh.size, jnp.arange(t // 2), t // 2
        late = (2 * n - 1 - i) * half + at
        return jnp.concatenate([i * half + at, late[::-1]])

    return mistakes._rotated(x, mesh, places)


def cheapest_way__the_dearer(heads, groups, block, n):
    query = block * heads // groups
    ring, ulysses = 2 * (n - 1) * block, 2 * (n - 1) * (query + block) // n
    if groups % n:
        return "ring", ring
    return max(("ring", ring), ("ulysses", ulysses), key=lambda x: x[1])


def cheapest_way__ties_to_ulysses(heads, groups, block, n):
    query = block * heads // groups
    ring, ulysses = 2 * (n - 1) * block, 2 * (n - 1) * (query + block) // n
    return (
        ("ring", ring) if groups % n or ulysses > ring else ("ulysses", ulysses)
    )
