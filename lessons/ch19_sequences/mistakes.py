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


def merge_parts__tops_alone(values, tops, totals):
    each = values / jnp.where(totals > 0, totals, 1)[..., None]
    return jnp.einsum("ni,nid->id", jax.nn.softmax(tops, axis=0), each)


def _part(q, k, v, far, window):
    """window: how many positions are seen."""
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
    to=lambda j, n: (j + 1) % n,
):
    n = mesh.size
    pairs = [(j, to(j, n)) for j in range(n) if to(j, n) < n]

    def on_each(q, k, v):
        i, t = lax.axis_index("s"), q.shape[1]

        def turn(carry, r):
            state, k, v = carry
            k, v = (lax.ppermute(x, "s", pairs) for x in (k, v))
            new = _part(q, k, v, far(i, owner(i, r, n), t), window)
            return (merge(state, new), k, v), None

        begin = _part(q, k, v, far(i, i, t), window), k, v
        (state, _, _), _ = lax.scan(turn, begin, jnp.arange(1, turns + 1))
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


def window_attention__zeros_seen(q, k, v, window, mesh):
    return _window(
        q,
        k,
        v,
        window,
        mesh,
        _back(q, window, mesh),
        owner=lambda i, r, n: i - r,
        to=lambda j, n: j + 1,
    )


def window_attention__across_the_ends(q, k, v, window, mesh):
    turns = _back(q, window, mesh)
    return _window(q, k, v, window, mesh, turns, owner=lambda i, r, n: i - r)


def window_attention__rounded_down(q, k, v, window, mesh):
    turns = (window - 1) // (q.shape[1] // mesh.size)
    return _window(q, k, v, window, mesh, min(turns, mesh.size - 1))


def window_attention__one_position_more(q, k, v, window, mesh):
    turns = _back(q, window, mesh)
    return _window(q, k, v, window + 1, mesh, turns)


def window_attention__sent_back(q, k, v, window, mesh):
    turns = _back(q, window, mesh)
    return _window(q, k, v, window, mesh, turns, to=lambda j, n: (j - 1) % n)


def _there(x):
    return lax.all_to_all(x, "s", split_axis=2, concat_axis=1, tiled=True)


def _home(x):
    return lax.all_to_all(x, "s", split_axis=1, concat_axis=2, tiled=True)


def _causal(t, i):
    return jnp.arange(t)[:, None] >= jnp.arange(t)


def _ulysses(q, k, v, mesh, more, seen=_causal, back=_home):
    def on_each(q, k, v):
        q, k, v = _there(q), _there(more(k, q)), _there(more(v, q))
        mask = seen(q.shape[1], lax.axis_index("s"))[None, None]
        return back(jax.nn.dot_product_attention(q, k, v, mask=mask))

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
    return _ulysses(
        q, k, v, mesh, _enough(mesh), seen=lambda t, i: jnp.ones((t, t), bool)
    )


def ulysses_grouped__by_heads(q, k, v, mesh):
    return _ulysses(q, k, v, mesh, _enough(mesh), back=lambda x: x)


def ulysses_grouped__mask_moved_on(q, k, v, mesh):
    def seen(t, i):
        first = i * (t // mesh.size)
        return first + jnp.arange(t)[:, None] >= jnp.arange(t)

    return _ulysses(q, k, v, mesh, _enough(mesh), seen=seen)


def ulysses_grouped__divided_by_copies(q, k, v, mesh):
    out = _ulysses(q, k, v, mesh, _enough(mesh))
    return out / (mesh.size // k.shape[2])


def _zigzag(mesh):
    def places(i, t):
        at, last = jnp.arange(t // 2), 2 * mesh.size - 1
        return jnp.concatenate([i * (t // 2) + at, (last - i) * (t // 2) + at])

    return places


def _rotated(x, mesh, places, of=2):
    def on_each(x):
        t, pairs = x.shape[0], x.shape[1] // 2
        at = places(lax.axis_index("s"), t)
        speed = 10000.0 ** (-of * jnp.arange(pairs) / x.shape[1])
        angle = at[:, None] * speed
        a, b = jnp.split(x, 2, axis=1)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)

    f = jax.shard_map(on_each, mesh=mesh, in_specs=P("s"), out_specs=P("s"))
    return f(x)


def rotary__restarted(x, mesh):
    return _rotated(x, mesh, lambda i, t: jnp.arange(t))


def rotary__in_order(x, mesh):
    return _rotated(x, mesh, lambda i, t: i * t + jnp.arange(t))


def rotary__half_the_exponent(x, mesh):
    return _rotated(x, mesh, _zigzag(mesh), of=1)


def rotary__neighbours(x, mesh):
    def on_each(x):
        pairs = x.shape[1] // 2
        at = _zigzag(mesh)(lax.axis_index("s"), x.shape[0])
        angle = at[:, None] * 10000.0 ** (-jnp.arange(pairs) / pairs)
        a, b = x[:, ::2], x[:, 1::2]
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        both = a * cos - b * sin, a * sin + b * cos
        return jnp.stack(both, axis=2).reshape(x.shape)

    f = jax.shard_map(on_each, mesh=mesh, in_specs=P("s"), out_specs=P("s"))
    return f(x)


def rotary__both_in_order(x, mesh):
    def places(i, t):
        at = i * (t // 2) + jnp.arange(t // 2)
        return jnp.concatenate([at, at + mesh.size * (t // 2)])

    return _rotated(x, mesh, places)


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


def cheapest_way__own_piece_sent(heads, groups, block, n):
    ulysses = 2 * (block * heads // groups + block)
    return _cheapest(groups, n, 2 * (n - 1) * block, ulysses)


def cheapest_way__full_circle(heads, groups, block, n):
    ulysses = 2 * (n - 1) * (block * heads // groups + block) // n
    return _cheapest(groups, n, 2 * n * block, ulysses)


def cheapest_way__half_the_ring(heads, groups, block, n):
    ulysses = 2 * (n - 1) * (block * heads // groups + block) // n
    return _cheapest(groups, n, (n - 1) * block, ulysses)


def cheapest_way__queries_travel(heads, groups, block, n):
    query = block * heads // groups
    ulysses = 2 * (n - 1) * (query + block) // n
    return _cheapest(groups, n, (n - 1) * (query + 2 * block), ulysses)


def cheapest_way__enough_groups(heads, groups, block, n):
    ulysses = 2 * (n - 1) * (block * heads // groups + block) // n
    ring = 2 * (n - 1) * block
    return _cheapest(groups, n, ring, ulysses, divides=groups < n)
