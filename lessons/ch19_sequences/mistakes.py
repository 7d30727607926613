"""Known wrong answers of ch19_sequences, as code; words.toml explains them."""

import jax
import jax.numpy as jnp
from jax import P, lax


def merge_parts__as_they_are(values, tops, totals):
    return values.sum(axis=0) / totals.sum(axis=0)[:, None]


def merge_parts__mean(values, tops, totals):
    saw = totals > 0
    each = values / jnp.where(saw, totals, 1)[..., None]
    return each.sum(axis=0) / saw.sum(axis=0)[:, None]


def merge_parts__sums_not_rescaled(values, tops, totals):
    scale = jnp.exp(tops - tops.max(axis=0))
    values = (values * scale[..., None]).sum(axis=0)
    return values / totals.sum(axis=0)[:, None]


def merge_parts__not_shifted(values, tops, totals):
    scale = jnp.exp(tops)
    values = (values * scale[..., None]).sum(axis=0)
    return values / (totals * scale).sum(axis=0)[:, None]


def _part(q, k, v, far, window):
    seen = (far >= 0) & (far < window)
    scores = jnp.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5
    scores = jnp.where(seen, scores, -1e30)
    top = scores.max(axis=-1, keepdims=True)
    weights = jnp.where(seen, jnp.exp(scores - top), 0)
    values = jnp.einsum("bhij,bjhd->bhid", weights, v)
    return values, top, weights.sum(axis=-1, keepdims=True)


def _merge(a, b):
    top = jnp.maximum(a[1], b[1])
    old, new = jnp.exp(a[1] - top), jnp.exp(b[1] - top)
    return a[0] * old + b[0] * new, top, a[2] * old + b[2] * new


def _far(i, owner, t):
    return i * t + jnp.arange(t)[:, None] - owner * t - jnp.arange(t)


def _back(q, window, mesh):
    t = q.shape[1] // mesh.size
    return min(-(-(window - 1) // t), mesh.size - 1)


def _window(
    q,
    k,
    v,
    window,
    mesh,
    turns,
    owner=lambda i, r, n: (i - r) % n,
    far=_far,
    merge=_merge,
):
    n = mesh.size
    ahead = [(j, (j + 1) % n) for j in range(n)]

    def on_each(q, k, v):
        i, t = lax.axis_index("s"), q.shape[1]
        state = _part(q, k, v, far(i, i, t), window)
        for r in range(1, turns + 1):
            k, v = (lax.ppermute(x, "s", ahead) for x in (k, v))
            new = _part(q, k, v, far(i, owner(i, r, n), t), window)
            state = merge(state, new)
        return (state[0] / state[2]).swapaxes(1, 2)

    cut = P(None, "s")
    f = jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=cut)
    return f(q, k, v)


def window_attention__wrong_block(q, k, v, window, mesh):
    turns = _back(q, window, mesh)
    return _window(
        q, k, v, window, mesh, turns, owner=lambda i, r, n: (i + r) % n
    )


def window_attention__restarted(q, k, v, window, mesh):
    turns = _back(q, window, mesh)
    return _window(
        q, k, v, window, mesh, turns, far=lambda i, owner, t: _far(0, 0, t)
    )


def window_attention__not_rescaled(q, k, v, window, mesh):
    def merge(a, b):
        return a[0] + b[0], jnp.maximum(a[1], b[1]), a[2] + b[2]

    turns = _back(q, window, mesh)
    return _window(q, k, v, window, mesh, turns, merge=merge)


def window_attention__one_turn_too_many(q, k, v, window, mesh):
    return _window(q, k, v, window, mesh, _back(q, window, mesh) + 1)


def window_attention__all_round(q, k, v, window, mesh):
    return _window(q, k, v, window, mesh, mesh.size - 1)


def window_attention__all_at_once(q, k, v, window, mesh):
    n, turns = mesh.size, _back(q, window, mesh)
    ahead = [(j, (j + 1) % n) for j in range(n)]

    def on_each(q, k, v):
        i, t = lax.axis_index("s"), q.shape[1]
        ks, vs, fars = [k], [v], [_far(i, i, t)]
        for r in range(1, turns + 1):
            ks.append(lax.ppermute(ks[-1], "s", ahead))
            vs.append(lax.ppermute(vs[-1], "s", ahead))
            fars.append(_far(i, (i - r) % n, t))
        k, v = jnp.concatenate(ks, axis=1), jnp.concatenate(vs, axis=1)
        far = jnp.concatenate(fars, axis=1)
        values, _, total = _part(q, k, v, far, window)
        return (values / total).swapaxes(1, 2)

    cut = P(None, "s")
    f = jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=cut)
    return f(q, k, v)


def _there(x):
    return lax.all_to_all(x, "s", split_axis=2, concat_axis=1, tiled=True)


def _home(x):
    return lax.all_to_all(x, "s", split_axis=1, concat_axis=2, tiled=True)


def _ulysses(q, k, v, mesh, more, causal=True, back=_home):
    def on_each(q, k, v):
        q, k, v = _there(q), _there(more(k, q)), _there(more(v, q))
        out = jax.nn.dot_product_attention(q, k, v, is_causal=causal)
        return back(out)

    cut = P(None, "s")
    out = cut if back is _home else P(None, None, "s")
    f = jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=out)
    return f(q, k, v)


def ulysses_grouped__every_head(q, k, v, mesh):
    def more(x, q):
        return jnp.repeat(x, q.shape[2] // x.shape[2], axis=2)

    return _ulysses(q, k, v, mesh, more)


def ulysses_grouped__wrong_heads(q, k, v, mesh):
    def more(x, q):
        return jnp.tile(x, (1, 1, mesh.size // x.shape[2], 1))

    return _ulysses(q, k, v, mesh, more)


def _enough(mesh):
    return lambda x, q: jnp.repeat(x, mesh.size // x.shape[2], axis=2)


def ulysses_grouped__not_causal(q, k, v, mesh):
    return _ulysses(q, k, v, mesh, _enough(mesh), causal=False)


def ulysses_grouped__by_heads(q, k, v, mesh):
    return _ulysses(q, k, v, mesh, _enough(mesh), back=lambda x: x)


def _rotated(x, mesh, places):
    def on_each(x):
        t, pairs = x.shape[0], x.shape[1] // 2
        at = places(lax.axis_index("s"), t)
        angle = at[:, None] * 10000.0 ** (-jnp.arange(pairs) / pairs)
        a, b = jnp.split(x, 2, axis=1)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)

    f = jax.shard_map(on_each, mesh=mesh, in_specs=P("s"), out_specs=P("s"))
    return f(x)


def rotary__restarted(x, mesh):
    return _rotated(x, mesh, lambda i, t: jnp.arange(t))


def rotary__in_order(x, mesh):
    return _rotated(x, mesh, lambda i, t: i * t + jnp.arange(t))


def rotary__neighbours(x, mesh):
    def on_each(x):
        n, i, half = mesh.size, lax.axis_index("s"), x.shape[0] // 2
        at, pairs = jnp.arange(half), x.shape[1] // 2
        at = jnp.concatenate([i * half + at, (2 * n - 1 - i) * half + at])
        angle = at[:, None] * 10000.0 ** (-jnp.arange(pairs) / pairs)
        a, b = x[:, ::2], x[:, 1::2]
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        both = a * cos - b * sin, a * sin + b * cos
        return jnp.stack(both, axis=2).reshape(x.shape)

    f = jax.shard_map(on_each, mesh=mesh, in_specs=P("s"), out_specs=P("s"))
    return f(x)


def _cheapest(groups, n, ring, ulysses, divides=True):
    if divides and groups % n or ulysses >= ring:
        return "ring", ring
    return "ulysses", ulysses


def cheapest_way__groups_forgotten(heads, groups, block, n):
    return _cheapest(groups, n, 2 * (n - 1) * block, 4 * (n - 1) * block // n)


def cheapest_way__whole_arrays(heads, groups, block, n):
    query = block * heads // groups
    return _cheapest(groups, n, 2 * n * block, 2 * (query + block))


def cheapest_way__always_divides(heads, groups, block, n):
    ulysses = 2 * (n - 1) * (block * heads // groups + block) // n
    return _cheapest(groups, n, 2 * (n - 1) * block, ulysses, divides=False)


def cheapest_way__result_stays(heads, groups, block, n):
    ulysses = (n - 1) * (block * heads // groups + 2 * block) // n
    return _cheapest(groups, n, 2 * (n - 1) * block, ulysses)
