import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh, NamedSharding


# what: what this answer believes: exp(top) alone is the weight of a part, so the normalised attention of the parts is mixed by the softmax of their tops, without the totals.
def merge_parts(values: jax.Array, tops: jax.Array, totals: jax.Array) -> jax.Array:
    seen = totals > 0
    each = values / jnp.where(seen, totals, 1.0)[..., None]
    share = jax.nn.softmax(tops, axis=0)
    return jnp.sum(share[..., None] * each, axis=0)


# what: what this answer believes: a window that reaches into a block only partly does not need that block, so the number of blocks is rounded down.
def window_attention(q: jax.Array, k: jax.Array, v: jax.Array, window: int, mesh: Mesh) -> jax.Array:
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
    return jax.shard_map(local, mesh=mesh, in_specs=(cut, cut, cut), out_specs=cut)(q, k, v)


# what: what this answer believes: after the exchange the queries of device i still begin at position i T / n, so the causal mask has to be shifted by that.
def ulysses_grouped(q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh) -> jax.Array:
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


# what: what this answer believes: the rows have to be brought into the order of the sequence first, and reordering with fixed indices sends nothing.
def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    T, d = x.shape
    chunks = np.arange(T).reshape(2 * n, T // (2 * n))
    order = np.concatenate([np.concatenate([chunks[i], chunks[2 * n - 1 - i]]) for i in range(n)])
    plain = x[np.argsort(order)]
    angle = jnp.arange(T)[:, None] * 10000.0 ** (-2 * jnp.arange(d // 2) / d)
    a, b = plain[:, : d // 2], plain[:, d // 2 :]
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    turned = jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)
    return lax.with_sharding_constraint(turned[order], NamedSharding(mesh, P("s")))


# what: what this answer believes: in the ring the blocks have to come home, so they are sent n times.
def cheapest_way(heads: int, groups: int, block: int, n: int) -> tuple[str, int]:
    ring = n * 2 * block
    if groups % n != 0:
        return "ring", ring
    moved = 2 * block + 2 * block * (heads // groups)
    ulysses = moved // n * (n - 1)
    if ulysses < ring:
        return "ulysses", ulysses
    return "ring", ring
