import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: what this answer believes: a part that sees nothing has a neutral top of 0, so -inf may be replaced by 0 before the largest top is taken.
def merge_parts(values: jax.Array, tops: jax.Array, totals: jax.Array) -> jax.Array:
    tops = jnp.where(jnp.isneginf(tops), 0.0, tops)
    scale = jnp.exp(tops - tops.max(axis=0))
    numerator = jnp.einsum("ni,nid->id", scale, values)
    denominator = jnp.einsum("ni,ni->i", scale, totals)
    return numerator / denominator[:, None]


# what: what this answer believes: a ring has to be run to its end, n - 1 rounds, and the mask makes the blocks outside the window free.
def window_attention(q: jax.Array, k: jax.Array, v: jax.Array, window: int, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    b, T, h, d = q.shape
    size = T // n
    ring = [(j, (j + 1) % n) for j in range(n)]

    def local(q, k, v):
        me = lax.axis_index("s")
        qpos = me * size + jnp.arange(size)
        top = jnp.full((b, size, h), -jnp.inf)
        total = jnp.zeros((b, size, h))
        acc = jnp.zeros((b, size, h, d))
        for step in range(n):
            kpos = (me - step) % n * size + jnp.arange(size)
            away = qpos[:, None] - kpos[None, :]
            ok = (away >= 0) & (away < window)
            score = jnp.einsum("bqhd,bkhd->bqhk", q, k) * d**-0.5
            score = jnp.where(ok[None, :, None, :], score, -jnp.inf)
            new = jnp.maximum(top, score.max(-1))
            shrink = jnp.exp(top - new)
            e = jnp.exp(score - new[..., None])
            total = total * shrink + e.sum(-1)
            acc = acc * shrink[..., None] + jnp.einsum("bqhk,bkhd->bqhd", e, v)
            top = new
            if step < n - 1:
                k = lax.ppermute(k, "s", ring)
                v = lax.ppermute(v, "s", ring)
        return acc / total[..., None]

    s = P(None, "s")
    f = jax.shard_map(local, mesh=mesh, in_specs=(s, s, s), out_specs=s)
    return f(q, k, v)


# what: what this answer believes: k and v must have as many heads as q before they are exchanged, so each head is written h / g times.
def ulysses_grouped(q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh) -> jax.Array:
    h, g = q.shape[2], k.shape[2]
    T, d = q.shape[1], q.shape[3]

    def to_heads(x):
        return lax.all_to_all(x, "s", split_axis=2, concat_axis=1, tiled=True)

    def local(q, k, v):
        k = jnp.repeat(k, h // g, axis=2)
        v = jnp.repeat(v, h // g, axis=2)
        q, k, v = to_heads(q), to_heads(k), to_heads(v)
        score = jnp.einsum("bqhd,bkhd->bhqk", q, k) / d**0.5
        pos = jnp.arange(T)
        score = jnp.where(pos[:, None] >= pos, score, -jnp.inf)
        out = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(score), v)
        return lax.all_to_all(out, "s", split_axis=1, concat_axis=2, tiled=True)

    s = P(None, "s")
    f = jax.shard_map(local, mesh=mesh, in_specs=(s, s, s), out_specs=s)
    return f(q, k, v)


# what: what this answer believes: rotary depends on differences of positions only, so every device may count its own rows from 0.
def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    d = x.shape[1]

    def local(x):
        pos = jnp.arange(x.shape[0])
        angle = pos[:, None] * 10000.0 ** (-2 * jnp.arange(d // 2) / d)
        a, b = jnp.split(x, 2, axis=1)
        return jnp.concatenate(
            [
                a * jnp.cos(angle) - b * jnp.sin(angle),
                a * jnp.sin(angle) + b * jnp.cos(angle),
            ],
            axis=1,
        )

    return jax.shard_map(local, mesh=mesh, in_specs=P("s"), out_specs=P("s"))(x)
