"""Mistakes of ch19_sequences once more, spelled differently, where that may tell: the name must be the same."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax


def merge_parts__as_they_are(values, tops, totals):
    return jnp.einsum("nid->id", values) / jnp.einsum("ni->i", totals)[:, None]


def merge_parts__mean(values, tops, totals):
    each = jnp.where(totals[..., None] > 0, values / totals[..., None], jnp.nan)
    return jnp.nanmean(each, axis=0)


def merge_parts__sums_not_rescaled(values, tops, totals):
    scale = jnp.exp(tops - jnp.max(tops, 0, keepdims=True))
    return jnp.einsum("nid,ni->id", values, scale) / totals.sum(0)[:, None]


def merge_parts__not_shifted(values, tops, totals):
    weight = jnp.exp(tops)[..., None]
    return jnp.sum(values * weight, 0) / jnp.sum(totals[..., None] * weight, 0)


def merge_parts__tops_alone(values, tops, totals):
    seen = totals > 0
    each = values / jnp.where(seen, totals, 1.0)[..., None]
    share = jax.nn.softmax(tops, axis=0)
    return jnp.sum(share[..., None] * each, axis=0)


def _ring(q, k, v, window, mesh, more=0, before=-1, own=False, rescale=True):
    n, t = mesh.size, q.shape[1] // mesh.size
    turns = min((window + t - 2) // t, n - 1) + more

    def on_each(q, k, v):
        i = lax.axis_index("s")
        at, values, total = jnp.arange(t), 0.0, 0.0
        top = jnp.zeros_like(q[..., 0]) - 1e30
        for r in range(turns + 1):
            if r:
                to = [(j, (j + 1) % n) for j in range(n)]
                k, v = lax.ppermute((k, v), "s", to)
            owner = jnp.mod(i + before * r, n)
            first = (i - owner) * (not own) * t
            far = first + at[:, None] - at
            seen = ((far >= 0) & (far < window))[:, None, :]
            s = jnp.einsum("bihd,bjhd->bihj", q, k) / np.sqrt(q.shape[3])
            high = jnp.where(seen, s, -1e30).max(-1)
            new = jnp.maximum(top, high) if rescale else high
            w = jnp.where(seen, jnp.exp(s - new[..., None]), 0)
            old = jnp.exp(top - new) if rescale else jnp.ones_like(top)
            values = values * old[..., None] + jnp.einsum(
                "bihj,bjhd->bihd", w, v
            )
            total, top = total * old + w.sum(-1), new
        return values / total[..., None]

    cut = P(None, "s")
    return jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=cut)(
        q, k, v
    )


def window_attention__wrong_block(q, k, v, window, mesh):
    return _ring(q, k, v, window, mesh, before=1)


def window_attention__restarted(q, k, v, window, mesh):
    return _ring(q, k, v, window, mesh, own=True)


def window_attention__not_rescaled(q, k, v, window, mesh):
    return _ring(q, k, v, window, mesh, rescale=False)


def window_attention__one_turn_too_many(q, k, v, window, mesh):
    return _ring(q, k, v, window, mesh, more=1)


def window_attention__all_round(q, k, v, window, mesh):
    n, t = mesh.size, q.shape[1] // mesh.size
    turns = min((window + t - 2) // t, n - 1)
    return _ring(q, k, v, window, mesh, more=n - 1 - turns)


def window_attention__all_at_once(q, k, v, window, mesh):
    """Concatenated the other way round, with jax.nn's own softmax."""
    n, t = mesh.size, q.shape[1] // mesh.size
    turns = min((window + t - 2) // t, n - 1)

    def on_each(q, k, v):
        i = lax.axis_index("s")
        blocks = [(k, v)]
        for _ in range(turns):
            to = [(j, (j + 1) % n) for j in range(n)]
            blocks.insert(0, lax.ppermute(blocks[0], "s", to))
        k, v = (jnp.concatenate(x, 1) for x in zip(*blocks, strict=True))
        k_at = (i - turns) * t + jnp.arange((turns + 1) * t)
        far = i * t + jnp.arange(t)[:, None] - k_at
        seen = (far >= 0) & (far < window) & (k_at >= 0)
        s = jnp.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(q.shape[3])
        w = jax.nn.softmax(jnp.where(seen, s, -jnp.inf), axis=-1)
        return jnp.einsum("bhij,bjhd->bihd", w, v)

    cut = P(None, "s")
    return jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=cut)(
        q, k, v
    )


def window_attention__zeros_seen(q, k, v, window, mesh):
    n = mesh.shape["s"]
    b, T, h, d = q.shape
    L = T // n
    back = min(-(-(window - 1) // L), n - 1)
    onward = [(j, j + 1) for j in range(n - 1)]

    def local(q, k, v):
        rows = jnp.arange(L)
        top = jnp.full((b, h, L), -jnp.inf)
        total = jnp.zeros((b, h, L))
        acc = jnp.zeros((b, h, L, d))
        for s in range(back + 1):
            if s:
                k = lax.ppermute(k, "s", onward)
                v = lax.ppermute(v, "s", onward)
            dist = s * L + rows[:, None] - rows[None, :]
            sees = (dist >= 0) & (dist < window)
            score = jnp.einsum("bqhd,bkhd->bhqk", q, k) / d**0.5
            score = jnp.where(sees, score, -jnp.inf)
            new = jnp.maximum(top, score.max(-1))
            old = jnp.exp(top - new)
            e = jnp.exp(score - new[..., None])
            total = total * old + e.sum(-1)
            acc = acc * old[..., None] + jnp.einsum("bhqk,bkhd->bhqd", e, v)
            top = new
        return (acc / total[..., None]).transpose(0, 2, 1, 3)

    spec = P(None, "s")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec
    )(q, k, v)


def window_attention__rounded_down(q, k, v, window, mesh):
    n = mesh.shape["s"]
    d = q.shape[3]
    size = q.shape[1] // n
    back = min((window - 1) // size, n - 1)

    def local(q, k, v):
        i = lax.axis_index("s")
        qpos = i * size + jnp.arange(size)

        def scores(k, block):
            kpos = block * size + jnp.arange(size)
            sees = (kpos <= qpos[:, None]) & (kpos > qpos[:, None] - window)
            sees &= kpos >= 0
            s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / d**0.5
            return jnp.where(sees, s, -jnp.inf)

        s = scores(k, i)
        top = s.max(-1, keepdims=True)
        e = jnp.exp(s - top)
        total = e.sum(-1, keepdims=True)
        acc = jnp.einsum("bhqk,bkhd->bhqd", e, v)
        for step in range(1, back + 1):
            k = lax.ppermute(k, "s", [(j, (j + 1) % n) for j in range(n)])
            v = lax.ppermute(v, "s", [(j, (j + 1) % n) for j in range(n)])
            s = scores(k, i - step)
            new = jnp.maximum(top, s.max(-1, keepdims=True))
            e = jnp.exp(s - new)
            total = total * jnp.exp(top - new) + e.sum(-1, keepdims=True)
            acc = acc * jnp.exp(top - new)
            acc = acc + jnp.einsum("bhqk,bkhd->bhqd", e, v)
            top = new
        return jnp.swapaxes(acc / total, 1, 2)

    cut = P(None, "s")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(cut, cut, cut), out_specs=cut
    )(q, k, v)


def window_attention__sent_back(q, k, v, window, mesh):
    n = mesh.shape["s"]
    b, T, h, d = q.shape
    size = T // n
    back = min((window - 1 + size - 1) // size, n - 1)
    pairs = [(j, (j - 1) % n) for j in range(n)]

    def local(q, k, v):
        me = lax.axis_index("s")
        at = jnp.arange(size)
        top = jnp.full((b, h, size), -jnp.inf)
        total = jnp.zeros((b, h, size))
        acc = jnp.zeros((b, h, size, d))
        for s in range(back + 1):
            if s > 0:
                k, v = lax.ppermute((k, v), "s", pairs)
            qpos = me * size + at[:, None]
            kpos = (me - s) * size + at[None, :]
            sees = (kpos >= 0) & (kpos <= qpos) & (qpos - kpos < window)
            score = jnp.einsum("bqhd,bkhd->bhqk", q, k) / d**0.5
            score = jnp.where(sees, score, -jnp.inf)
            new = jnp.maximum(top, score.max(-1))
            e = jnp.exp(score - new[..., None])
            old = jnp.exp(top - new)
            total = total * old + e.sum(-1)
            acc = acc * old[..., None] + jnp.einsum("bhqk,bkhd->bhqd", e, v)
            top = new
        return jnp.transpose(acc / total[..., None], (0, 2, 1, 3))

    spec = P(None, "s")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec
    )(q, k, v)


def window_attention__across_the_ends(q, k, v, window, mesh):
    """All blocks of the window at once, as a list, taken modulo the length."""
    n, t = mesh.size, q.shape[1] // mesh.size
    turns = min((window + t - 2) // t, n - 1)

    def on_each(q, k, v):
        at, out = jnp.arange(t), []
        for r in range(turns + 1):
            if r:
                ring = [(j - 1, j % n) for j in range(1, n + 1)]
                k, v = lax.ppermute((k, v), "s", ring)
            far = r * t + at[:, None] - at
            s = jnp.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(q.shape[3])
            s = jnp.where((far >= 0) & (far < window), s, -1e30)
            top = s.max(-1)
            w = jnp.exp(s - top[..., None]) * (s > -1e29)
            out.append((jnp.einsum("bhij,bjhd->bhid", w, v), top, w.sum(-1)))
        values, tops, totals = (jnp.stack(x) for x in zip(*out, strict=True))
        scale = jnp.exp(tops - tops.max(0))
        total = (totals * scale).sum(0)[..., None]
        return ((values * scale[..., None]).sum(0) / total).swapaxes(1, 2)

    cut = P(None, "s")
    return jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=cut)(
        q, k, v
    )


def _exchanged(q, k, v, mesh, head, mask=True, back=True):
    n = mesh.size

    def on_each(q, k, v):
        b, t, h, d = q.shape
        pick = np.array([head(j, k.shape[2], n, h) for j in range(h)])

        def all_of(x):
            return lax.all_to_all(x, "s", 2, 1, tiled=True)

        q, k, v = all_of(q), all_of(k[:, :, pick]), all_of(v[:, :, pick])
        s = jnp.einsum("bihd,bjhd->bhij", q, k) / d**0.5
        if mask:
            s = jnp.where(jnp.tri(n * t, dtype=bool), s, -jnp.inf)
        out = jnp.einsum("bhij,bjhd->bihd", jax.nn.softmax(s), v)
        return lax.all_to_all(out, "s", 1, 2, tiled=True) if back else out

    cut = P(None, "s")
    out = cut if back else P(None, None, "s")
    return jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=out)(
        q, k, v
    )


def ulysses_grouped__every_head(q, k, v, mesh):
    return _exchanged(q, k, v, mesh, lambda j, g, n, h: j * g // h)


def _few(q, k, v, mesh, heads, mask=True, back=True):
    """One head of keys a device: heads[j] for device j."""

    def on_each(q, k, v):
        b, t, h, d = q.shape
        q = lax.all_to_all(q, "s", 2, 1, tiled=True)
        k, v = (
            lax.all_to_all(x[:, :, np.array(heads)], "s", 2, 1, tiled=True)
            for x in (k, v)
        )
        s = jnp.einsum("bihd,bjd->bhij", q, k[:, :, 0]) / d**0.5
        if mask:
            s = jnp.where(jnp.tri(s.shape[2], dtype=bool), s, -jnp.inf)
        out = jnp.einsum("bhij,bjd->bihd", jax.nn.softmax(s), v[:, :, 0])
        return lax.all_to_all(out, "s", 1, 2, tiled=True) if back else out

    cut = P(None, "s")
    out = cut if back else P(None, None, "s")
    return jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=out)(
        q, k, v
    )


def ulysses_grouped__wrong_heads(q, k, v, mesh):
    return _few(q, k, v, mesh, [j % k.shape[2] for j in range(mesh.size)])


def _right(k, mesh):
    return [j * k.shape[2] // mesh.size for j in range(mesh.size)]


def ulysses_grouped__not_causal(q, k, v, mesh):
    return _few(q, k, v, mesh, _right(k, mesh), mask=False)


def ulysses_grouped__by_heads(q, k, v, mesh):
    return _few(q, k, v, mesh, _right(k, mesh), back=False)


def ulysses_grouped__mask_moved_on(q, k, v, mesh):
    n = mesh.shape["s"]
    T, d = q.shape[1], q.shape[3]
    copies = n // k.shape[2]

    def local(q, k, v):
        size = q.shape[1]
        i = lax.axis_index("s")
        k = jnp.repeat(k, copies, axis=2)
        v = jnp.repeat(v, copies, axis=2)
        q, k, v = [lax.all_to_all(x, "s", 2, 1, tiled=True) for x in (q, k, v)]
        qpos = i * size + jnp.arange(T)
        sees = jnp.arange(T) <= qpos[:, None]
        s = jnp.einsum("bqhd,bkd->bhqk", q, k[:, :, 0]) / d**0.5
        p = jax.nn.softmax(jnp.where(sees, s, -jnp.inf), axis=-1)
        out = jnp.einsum("bhqk,bkd->bqhd", p, v[:, :, 0])
        return lax.all_to_all(out, "s", 1, 2, tiled=True)

    cut = P(None, "s")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(cut, cut, cut), out_specs=cut
    )(q, k, v)


def ulysses_grouped__divided_by_copies(q, k, v, mesh):
    copies = mesh.size / k.shape[2]
    return _few(q, k, v / copies, mesh, _right(k, mesh))


def _turned(x, mesh, at, near=False):
    pairs = x.shape[1] // 2
    angle = at[:, None] / 10000.0 ** (jnp.arange(pairs) / pairs)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    if near:
        z = x.reshape(len(x), pairs, 2)
        a, b = z[..., 0], z[..., 1]
        out = jnp.stack([a * cos - b * sin, b * cos + a * sin], -1)
    else:
        z = x.reshape(len(x), 2, pairs)
        a, b = z[:, 0], z[:, 1]
        out = jnp.stack([a * cos - b * sin, b * cos + a * sin], 1)
    return lax.with_sharding_constraint(
        out.reshape(x.shape), jax.NamedSharding(mesh, P("s"))
    )


def rotary__restarted(x, mesh):
    return _turned(x, mesh, lax.iota(jnp.int32, len(x)) % (len(x) // mesh.size))


def rotary__in_order(x, mesh):
    return _turned(x, mesh, lax.iota(jnp.int32, len(x)))


def rotary__neighbours(x, mesh):
    n, half = mesh.size, len(x) // (2 * mesh.size)
    row = lax.iota(jnp.int32, len(x))
    device = row // (2 * half)
    late = row // half % 2 == 1
    chunk = jnp.where(late, 2 * n - 1 - device, device)
    return _turned(x, mesh, chunk * half + row % half, near=True)


def rotary__both_in_order(x, mesh):
    half = len(x) // (2 * mesh.size)
    row = lax.iota(jnp.int32, len(x))
    device, late = row // (2 * half), row // half % 2
    at = (device + late * mesh.size) * half + row % half
    return _turned(x, mesh, at)


def _lower(**found):
    name = min(found, key=lambda name: found[name])
    return name, found[name]


def cheapest_way__groups_forgotten(heads, groups, block, n):
    ring = (n - 1) * (block + block)
    if groups // n * n != groups:
        return "ring", ring
    return _lower(ring=ring, ulysses=4 * (block - block // n))


def cheapest_way__whole_arrays(heads, groups, block, n):
    ring = n * (block + block)
    if groups // n * n != groups:
        return "ring", ring
    return _lower(ring=ring, ulysses=2 * block + 2 * block * heads // groups)


def cheapest_way__always_divides(heads, groups, block, n):
    sizes = block, block, block * heads // groups, block * heads // groups
    return _lower(
        ring=(n - 1) * 2 * block, ulysses=sum(s - s // n for s in sizes)
    )


def cheapest_way__result_stays(heads, groups, block, n):
    ring, sizes = (n - 1) * 2 * block, (block, block, block * heads // groups)
    if groups // n * n != groups:
        return "ring", ring
    return _lower(ring=ring, ulysses=sum(s - s // n for s in sizes))


def cheapest_way__own_piece_sent(heads, groups, block, n):
    queries = block * heads // groups
    ways = {"ring": 2 * block * (n - 1)}
    if groups % n == 0:
        ways["ulysses"] = 2 * block + 2 * queries
    name = min(ways, key=ways.get)
    return name, ways[name]


def cheapest_way__full_circle(heads, groups, block, n):
    ring = n * 2 * block
    if groups % n != 0:
        return "ring", ring
    moved = 2 * block + 2 * block * (heads // groups)
    ulysses = moved // n * (n - 1)
    if ulysses < ring:
        return "ulysses", ulysses
    return "ring", ring


def cheapest_way__half_the_ring(heads, groups, block, n):
    ring = block * (n - 1)
    ulysses = 2 * (block + block * heads // groups) * (n - 1) // n
    if groups % n == 0 and ulysses < ring:
        return ("ulysses", ulysses)
    return ("ring", ring)
