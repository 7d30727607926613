"""Other answers to the exercises of ch19_sequences: right ones, known mistakes, and other wrong ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax

from lessons.ch19_sequences import mistakes


def merge_parts__right(values, tops, totals):
    """Softmax of the logarithms of the parts' whole weights."""
    saw = totals > 0
    each = values / jnp.where(saw, totals, 1)[..., None]
    share = jnp.where(saw, tops + jnp.log(jnp.where(saw, totals, 1)), -jnp.inf)
    return jnp.einsum("ni,nid->id", jax.nn.softmax(share, axis=0), each)


def merge_parts__last_part(values, tops, totals):
    return values[-1] / totals[-1][:, None]


def window_attention__right(q, k, v, window, mesh):
    """Unrolled, k and v sent in one array, running logarithms of sums."""
    n, length = mesh.size, q.shape[1]
    t = length // n
    turns = min((window - 2) // t + 1, n - 1)

    def on_each(q, k, v):
        i = lax.axis_index("s")
        both = jnp.stack([k, v])
        out, lse = jnp.zeros_like(q), jnp.full_like(q[..., :1], -jnp.inf)
        for r in range(turns + 1):
            first = i * t - r * t  # below 0: nobody's
            p, j = i * t + jnp.arange(t)[:, None], first + jnp.arange(t)
            seen = (j <= p) & (j > p - window) & (j >= 0)
            s = jnp.einsum("bihd,bjhd->bihj", q, both[0]) / jnp.sqrt(q.shape[3])
            s = jnp.where(seen[None, :, None], s, -jnp.inf)
            own = jax.scipy.special.logsumexp(s, axis=-1, keepdims=True)
            some = jnp.isfinite(own)
            weights = jnp.where(some, jnp.exp(s - jnp.where(some, own, 0)), 0)
            new = jnp.einsum("bihj,bjhd->bihd", weights, both[1])
            total = jnp.logaddexp(lse, own)
            out = out * jnp.exp(lse - total) + new * jnp.exp(own - total)
            lse = total
            if r < turns:
                ring = [(j, (j + 1) % n) for j in range(n)]
                both = lax.ppermute(both, "s", ring)
        return out

    spec = P(None, "s", None, None)
    return jax.jit(jax.shard_map(on_each, mesh=mesh, in_specs=spec, out_specs=spec))(q, k, v)


def window_attention__right_otherwise(q, k, v, window, mesh):
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
            values = values * old[..., None] + jnp.einsum("bhij,bjhd->bhid", w, v)
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
    return jax.shard_map(on_each, mesh=mesh, in_specs=spec, out_specs=spec)(q, k, v)


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
    return jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=cut)(q, k, v)


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
    return jax.shard_map(local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec)(q, k, v)


def window_attention__whole_past(q, k, v, window, mesh):
    turns = mistakes._back(q, window, mesh)
    return mistakes._window(q, k, v, q.shape[1], mesh, turns)


def window_attention__own_block_only(q, k, v, window, mesh):
    return mistakes._window(q, k, v, window, mesh, 0)


def ulysses_grouped__right(q, k, v, mesh):
    """Every device asks for its one head by hand; untiled all-to-alls."""
    n = mesh.size

    def on_each(q, k, v):
        b, t, h, d = q.shape
        head = np.arange(n) * k.shape[2] // n  # that device j needs
        q = q.reshape(b, t, n, h // n, d)
        q = lax.all_to_all(q, "s", 2, 1).reshape(b, n * t, h // n, d)
        k, v = (lax.all_to_all(x[:, :, head], "s", 2, 1).reshape(b, n * t, d) for x in (k, v))
        s = jnp.einsum("bihd,bjd->bhij", q, k) / d**0.5
        s = jnp.where(jnp.tri(n * t, dtype=bool), s, -jnp.inf)
        out = jnp.einsum("bhij,bjd->bihd", jax.nn.softmax(s), v)
        out = out.reshape(b, n, t, h // n, d)
        out = lax.all_to_all(out, "s", 1, 2)
        return out.reshape(b, t, h, d)

    return jax.shard_map(on_each, mesh=mesh, in_specs=P(None, "s"), out_specs=P(None, "s"))(q, k, v)


def ulysses_grouped__right_otherwise(q, k, v, mesh):
    """All three in one all-to-all."""
    n = mesh.size

    def on_each(q, k, v):
        b, t, h, d = q.shape
        k, v = (jnp.repeat(x, n // x.shape[2], axis=2) for x in (k, v))
        q = q.reshape(b, t, n, h // n, d)
        packed = jnp.concatenate([q, k[:, :, :, None], v[:, :, :, None]], axis=3)
        packed = lax.all_to_all(packed, "s", 2, 1, tiled=True)[:, :, 0]
        q, k, v = jnp.split(packed, [h // n, h // n + 1], axis=2)
        out = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return lax.all_to_all(out, "s", 1, 2, tiled=True)

    return jax.shard_map(on_each, mesh=mesh, in_specs=P(None, "s"), out_specs=P(None, "s"))(q, k, v)


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
    return jax.shard_map(local, mesh=mesh, in_specs=(cut, cut, cut), out_specs=cut)(q, k, v)


def _few(q, k, v, mesh, heads, mask=True, back=True):
    """One head of keys a device: heads[j] for device j."""

    def on_each(q, k, v):
        b, t, h, d = q.shape
        q = lax.all_to_all(q, "s", 2, 1, tiled=True)
        k, v = (lax.all_to_all(x[:, :, np.array(heads)], "s", 2, 1, tiled=True) for x in (k, v))
        s = jnp.einsum("bihd,bjd->bhij", q, k[:, :, 0]) / d**0.5
        if mask:
            s = jnp.where(jnp.tri(s.shape[2], dtype=bool), s, -jnp.inf)
        out = jnp.einsum("bhij,bjd->bihd", jax.nn.softmax(s), v[:, :, 0])
        return lax.all_to_all(out, "s", 1, 2, tiled=True) if back else out

    cut = P(None, "s")
    out = cut if back else P(None, None, "s")
    return jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=out)(q, k, v)


def _right(k, mesh):
    return [j * k.shape[2] // mesh.size for j in range(mesh.size)]


def ulysses_grouped__divided_by_copies(q, k, v, mesh):
    copies = mesh.size / k.shape[2]
    return _few(q, k, v / copies, mesh, _right(k, mesh))


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


def rotary__right(x, mesh):
    """All positions as a constant that is cut like x; complex numbers."""
    n, pairs = mesh.size, x.shape[1] // 2
    chunks = np.arange(len(x)).reshape(2 * n, -1)
    at = np.stack([chunks[:n], chunks[::-1][:n]], axis=1).reshape(-1)
    at = jax.lax.with_sharding_constraint(jnp.asarray(at), jax.NamedSharding(mesh, P("s")))

    def on_each(x, at):
        angle = at[:, None] * jnp.exp(-jnp.log(1e4) * jnp.arange(pairs) / pairs)
        z = lax.complex(x[:, :pairs], x[:, pairs:]) * jnp.exp(1j * angle)
        return jnp.concatenate([z.real, z.imag], axis=1)

    return jax.shard_map(on_each, mesh=mesh, in_specs=(P("s"), P("s")), out_specs=P("s"))(x, at)


def rotary__right_otherwise(x, mesh):
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
    return lax.with_sharding_constraint(out.reshape(x.shape), jax.NamedSharding(mesh, P("s")))


def rotary__neighbours(x, mesh):
    n, half = mesh.size, len(x) // (2 * mesh.size)
    row = lax.iota(jnp.int32, len(x))
    device = row // (2 * half)
    late = row // half % 2 == 1
    chunk = jnp.where(late, 2 * n - 1 - device, device)
    return _turned(x, mesh, chunk * half + row % half, near=True)


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


def cheapest_way__right(heads, groups, block, n):
    ratio = heads // groups
    kept = block - block // n  # of a block what an all-to-all sends
    if groups % n == 0 and n > 1 + ratio:
        return "ulysses", 2 * kept * (1 + ratio)
    return "ring", 2 * block * (n - 1)


def cheapest_way__the_dearer(heads, groups, block, n):
    query = block * heads // groups
    ring, ulysses = 2 * (n - 1) * block, 2 * (n - 1) * (query + block) // n
    if groups % n:
        return "ring", ring
    return max(("ring", ring), ("ulysses", ulysses), key=lambda x: x[1])
