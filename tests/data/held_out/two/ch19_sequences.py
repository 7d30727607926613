import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: what this answer believes: (1) a part without keys has top 0; and (2) totals are counts that can be added as they are, only values depend on the top.
def merge_parts(values: jax.Array, tops: jax.Array, totals: jax.Array) -> jax.Array:
    tops = jnp.where(tops == -jnp.inf, 0.0, tops)
    w = jnp.exp(tops - jnp.max(tops, axis=0))
    return (w[..., None] * values).sum(0) / totals.sum(0)[:, None]


# what: what this answer believes: (1) distance in the ring is distance in the sequence, so the first device may use what arrives from the last; and (2) a window of w means w positions before the query besides itself.
def window_attention(q: jax.Array, k: jax.Array, v: jax.Array, window: int, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    b, T, h, d = q.shape
    size = T // n
    back = min(-(-(window - 1) // size), n - 1)
    ring = [(j, (j + 1) % n) for j in range(n)]

    def local(q, k, v):
        r = jnp.arange(size)
        top = jnp.full((b, h, size), -jnp.inf)
        total = jnp.zeros((b, h, size))
        acc = jnp.zeros((b, h, size, d))
        for s in range(back + 1):
            gap = s * size + r[:, None] - r
            score = jnp.einsum("bqhd,bkhd->bhqk", q, k) / d**0.5
            score = jnp.where((gap >= 0) & (gap <= window), score, -jnp.inf)
            new = jnp.maximum(top, score.max(-1))
            e = jnp.exp(score - new[..., None])
            old = jnp.exp(top - new)
            total = total * old + e.sum(-1)
            acc = acc * old[..., None] + jnp.einsum("bhqk,bkhd->bhqd", e, v)
            top = new
            if s < back:
                k = lax.ppermute(k, "s", ring)
                v = lax.ppermute(v, "s", ring)
        return (acc / total[..., None]).transpose(0, 2, 1, 3)

    spec = P(None, "s")
    return jax.shard_map(local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec)(q, k, v)


# what: what this answer believes: (1) the copies of the heads may lie in the order of tile; and (2) a head that is written n / g times counts n / g times, so the result is divided by that.
def ulysses_grouped(q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    T, d = q.shape[1], q.shape[3]
    copies = n // k.shape[2]

    def local(q, k, v):
        k = jnp.concatenate([k] * copies, axis=2)
        v = jnp.concatenate([v] * copies, axis=2)
        q = lax.all_to_all(q, "s", 2, 1, tiled=True)
        k = lax.all_to_all(k, "s", 2, 1, tiled=True)
        v = lax.all_to_all(v, "s", 2, 1, tiled=True)
        score = jnp.einsum("bqhd,bkd->bhqk", q, k[:, :, 0]) / d**0.5
        score = jnp.where(jnp.tril(jnp.ones((T, T), bool)), score, -jnp.inf)
        p = jax.nn.softmax(score, axis=-1)
        out = jnp.einsum("bhqk,bkd->bqhd", p, v[:, :, 0]) / copies
        return lax.all_to_all(out, "s", 1, 2, tiled=True)

    spec = P(None, "s")
    return jax.shard_map(local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec)(q, k, v)


# what: what this answer believes: (1) zigzag gives device i the chunks i and n + i; and (2) the numbers that rotate together are neighbours, 2 m and 2 m + 1.
def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    T, d = x.shape
    c = T // (2 * n)

    def local(x):
        i = lax.axis_index("s")
        r = jnp.arange(c)
        pos = jnp.concatenate([i * c + r, (n + i) * c + r])
        angle = pos[:, None] * 10000.0 ** (-2 * jnp.arange(d // 2) / d)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        pair = x.reshape(2 * c, d // 2, 2)
        a, b = pair[..., 0], pair[..., 1]
        out = jnp.stack([a * cos - b * sin, a * sin + b * cos], axis=-1)
        return out.reshape(2 * c, d)

    return jax.shard_map(local, mesh=mesh, in_specs=P("s"), out_specs=P("s"))(x)


# what: what this answer believes: (1) in the ring the queries travel along with keys and values; and (2) Ulysses needs at least n groups, divisible or not.
def cheapest_way(heads: int, groups: int, block: int, n: int) -> tuple[str, int]:
    queries = block * heads // groups
    ring = (queries + 2 * block) * (n - 1)
    ulysses = 2 * (queries + block) // n * (n - 1)
    if groups >= n and ulysses < ring:
        return "ulysses", ulysses
    return "ring", ring
