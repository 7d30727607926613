import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# style: closed form, the largest top over the parts, then two weighted sums.
def merge_parts(values: jax.Array, tops: jax.Array, totals: jax.Array) -> jax.Array:
    w = jnp.exp(tops - tops.max(axis=0))
    summed = (w[..., None] * values).sum(axis=0)
    return summed / (w * totals).sum(axis=0)[:, None]


# style: Python loop over the blocks, passed on by one device each round, global positions in the mask.
def window_attention(q: jax.Array, k: jax.Array, v: jax.Array, window: int, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    d = q.shape[3]
    size = q.shape[1] // n
    back = min(-(-(window - 1) // size), n - 1)
    onward = [(j, (j + 1) % n) for j in range(n)]

    def local(q, k, v):
        i = lax.axis_index("s")
        qpos = i * size + jnp.arange(size)[:, None]

        def scores(k, block):
            kpos = block * size + jnp.arange(size)
            sees = (kpos >= 0) & (kpos <= qpos) & (qpos - kpos < window)
            s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / d**0.5
            return jnp.where(sees, s, -jnp.inf)

        s = scores(k, i)
        top = s.max(-1, keepdims=True)
        e = jnp.exp(s - top)
        total = e.sum(-1, keepdims=True)
        acc = jnp.einsum("bhqk,bkhd->bhqd", e, v)
        for step in range(1, back + 1):
            k = lax.ppermute(k, "s", onward)
            v = lax.ppermute(v, "s", onward)
            s = scores(k, i - step)
            new = jnp.maximum(top, s.max(-1, keepdims=True))
            old = jnp.exp(top - new)
            e = jnp.exp(s - new)
            total = total * old + e.sum(-1, keepdims=True)
            acc = acc * old + jnp.einsum("bhqk,bkhd->bhqd", e, v)
            top = new
        return (acc / total).transpose(0, 2, 1, 3)

    cut = P(None, "s")
    return jax.shard_map(local, mesh=mesh, in_specs=(cut, cut, cut), out_specs=cut)(q, k, v)


# style: repeat and tiled all-to-alls.
def ulysses_grouped(q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    T, d = q.shape[1], q.shape[3]
    copies = n // k.shape[2]

    def local(q, k, v):
        k = jnp.repeat(k, copies, axis=2)
        v = jnp.repeat(v, copies, axis=2)
        q, k, v = [lax.all_to_all(x, "s", 2, 1, tiled=True) for x in (q, k, v)]
        score = jnp.einsum("bqhd,bkd->bhqk", q, k[:, :, 0]) / d**0.5
        t = jnp.arange(T)
        score = jnp.where(t <= t[:, None], score, -jnp.inf)
        p = jax.nn.softmax(score, axis=-1)
        out = jnp.einsum("bhqk,bkd->bqhd", p, v[:, :, 0])
        return lax.all_to_all(out, "s", 1, 2, tiled=True)

    cut = P(None, "s")
    return jax.shard_map(local, mesh=mesh, in_specs=(cut, cut, cut), out_specs=cut)(q, k, v)


# style: shard_map, positions from the index of the device.
def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    T, d = x.shape
    c = T // (2 * n)

    def local(x):
        i = lax.axis_index("s")
        r = jnp.arange(c)
        pos = jnp.concatenate([i * c + r, (2 * n - 1 - i) * c + r])
        angle = pos[:, None] * 10000.0 ** (-2 * jnp.arange(d // 2) / d)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        a, b = x[:, : d // 2], x[:, d // 2 :]
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)

    return jax.shard_map(local, mesh=mesh, in_specs=P("s"), out_specs=P("s"))(x)


# style: both formulas, then a comparison of the bytes.
def cheapest_way(heads: int, groups: int, block: int, n: int) -> tuple[str, int]:
    ring = 2 * block * (n - 1)
    ulysses = 2 * (block + block * heads // groups) * (n - 1) // n
    if groups % n == 0 and ulysses < ring:
        return "ulysses", ulysses
    return "ring", ring
