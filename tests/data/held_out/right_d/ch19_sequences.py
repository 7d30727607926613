import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh, NamedSharding


# style: parts are folded in one after the other with a scan, as in flash attention.
def merge_parts(values: jax.Array, tops: jax.Array, totals: jax.Array) -> jax.Array:
    def fold(state, part):
        acc, top, total = state
        value, t, s = part
        new = jnp.maximum(top, t)
        base = jnp.where(jnp.isneginf(new), 0.0, new)
        old, w = jnp.exp(top - base), jnp.exp(t - base)
        acc = acc * old[:, None] + value * w[:, None]
        return (acc, new, total * old + s * w), None

    first = (values[0], tops[0], totals[0])
    rest = (values[1:], tops[1:], totals[1:])
    (acc, _, total), _ = lax.scan(fold, first, rest)
    return acc / total[:, None]


# style: fori_loop with relative distances, devices without a sender masked by their index.
def window_attention(q: jax.Array, k: jax.Array, v: jax.Array, window: int, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    b, T, h, d = q.shape
    size = T // n
    back = min(math.ceil((window - 1) / size), n - 1)
    pairs = [(j, j + 1) for j in range(n - 1)]

    def local(q, k, v):
        me = lax.axis_index("s")
        q = q * d**-0.5
        near = jnp.arange(size)[:, None] - jnp.arange(size)

        def add(step, k, v, top, total, acc):
            gap = near + step * size
            sees = (gap >= 0) & (gap < window) & (me >= step)
            s = jnp.einsum("bqhd,bkhd->bhqk", q, k)
            s = jnp.where(sees, s, -jnp.inf)
            new = jnp.maximum(top, s.max(-1))
            old = jnp.exp(top - new)
            e = jnp.exp(s - new[..., None])
            acc = acc * old[..., None] + jnp.einsum("bhqk,bkhd->bhqd", e, v)
            return new, total * old + e.sum(-1), acc

        def round_(step, state):
            k, v, *sums = state
            k = lax.ppermute(k, "s", pairs)
            v = lax.ppermute(v, "s", pairs)
            return (k, v, *add(step, k, v, *sums))

        start = (
            jnp.full((b, h, size), -jnp.inf, q.dtype),
            jnp.zeros((b, h, size), q.dtype),
            jnp.zeros((b, h, size, d), q.dtype),
        )
        state = (k, v, *add(0, k, v, *start))
        _, _, _, total, acc = lax.fori_loop(1, back + 1, round_, state)
        return jnp.moveaxis(acc / total[..., None], 1, 2)

    cut = P(None, "s")
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(cut, cut, cut),
        out_specs=cut,
        check_vma=False,
    )(q, k, v)


# style: explicit parcels, one for each device, on a leading axis.
def ulysses_grouped(q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    b, T, h, d = q.shape
    size = T // n
    g = k.shape[2]
    receiver_head = np.arange(n) * g // n

    def swap(x):
        return lax.all_to_all(x, "s", 0, 0, tiled=True)

    def local(q, k, v):
        parcels = jnp.moveaxis(q.reshape(b, size, n, h // n, d), 2, 0)
        q = jnp.moveaxis(swap(parcels), 0, 1).reshape(b, T, h // n, d)
        heads = [k[:, :, j] for j in receiver_head]
        k = jnp.moveaxis(swap(jnp.stack(heads)), 0, 1).reshape(b, T, d)
        heads = [v[:, :, j] for j in receiver_head]
        v = jnp.moveaxis(swap(jnp.stack(heads)), 0, 1).reshape(b, T, d)
        s = jnp.einsum("bqhd,bkd->bhqk", q, k) * d**-0.5
        s = jnp.where(jnp.tril(jnp.ones((T, T), bool)), s, -jnp.inf)
        e = jnp.exp(s - s.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        out = jnp.einsum("bhqk,bkd->bqhd", p, v)
        parcels = jnp.moveaxis(out.reshape(b, n, size, h // n, d), 1, 0)
        return jnp.moveaxis(swap(parcels), 0, 2).reshape(b, size, h, d)

    cut = P(None, "s")
    return jax.shard_map(local, mesh=mesh, in_specs=(cut, cut, cut), out_specs=cut)(q, k, v)


# style: no shard_map; positions as a constant, all operations row by row, the layout stated at the end.
def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    T, d = x.shape
    chunks = np.arange(T, dtype=np.float32).reshape(2 * n, -1)
    pos = np.stack([chunks[:n], chunks[: n - 1 : -1]], axis=1).reshape(T)
    cut = NamedSharding(mesh, P("s"))
    pos = lax.with_sharding_constraint(jnp.asarray(pos), cut)
    freq = 10000.0 ** (-2 * np.arange(d // 2) / d)
    angle = pos[:, None] * jnp.asarray(freq, jnp.float32)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    a, b = x[:, : d // 2], x[:, d // 2 :]
    out = jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)
    return lax.with_sharding_constraint(out, cut)


# style: comparison solved by hand (1 + heads / groups against n), one formula evaluated.
def cheapest_way(heads: int, groups: int, block: int, n: int) -> tuple[str, int]:
    ratio = heads // groups
    if groups % n == 0 and 1 + ratio < n:
        return "ulysses", 2 * (1 + ratio) * (n - 1) * (block // n)
    return "ring", 2 * (n - 1) * block
