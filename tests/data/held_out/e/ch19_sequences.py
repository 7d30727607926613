import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: the top of a part in which nothing is seen may be any number, such as 0, since its total is 0 anyway.
def merge_parts(
    values: jax.Array, tops: jax.Array, totals: jax.Array
) -> jax.Array:
    tops = jnp.where(jnp.isneginf(tops), 0.0, tops)
    top = jnp.max(tops, axis=0)
    scale = jnp.exp(tops - top)
    total = jnp.sum(totals * scale, axis=0)
    value = jnp.sum(values * scale[..., None], axis=0)
    return value / jnp.maximum(total, 1e-30)[:, None]


# what: a window needs a halo from the neighbour only: one block before its own is enough, however long the window is.
def window_attention(
    q: jax.Array, k: jax.Array, v: jax.Array, window: int, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["s"]
    forward = [(i, (i + 1) % n) for i in range(n)]

    def local(q, k, v):
        t, d = q.shape[1], q.shape[3]
        me = lax.axis_index("s")
        keys = jnp.concatenate([lax.ppermute(k, "s", forward), k], axis=1)
        values = jnp.concatenate([lax.ppermute(v, "s", forward), v], axis=1)
        at = me * t + jnp.arange(t)[:, None]
        there = (me - 1) * t + jnp.arange(2 * t)[None, :]
        seen = (there >= 0) & (there <= at) & (there > at - window)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, keys) / d**0.5
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, values)

    spec = P(None, "s")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec
    )(q, k, v)


# what: to have every head n / g times, one writes all heads one after the other and then all of them again (0 1 0 1 instead of 0 0 1 1).
def ulysses_grouped(
    q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["s"]

    def to_heads(a):
        return lax.all_to_all(a, "s", split_axis=2, concat_axis=1, tiled=True)

    def local(q, k, v):
        times = n // k.shape[2]
        q = to_heads(q)
        k = to_heads(jnp.tile(k, (1, 1, times, 1)))[:, :, 0]
        v = to_heads(jnp.tile(v, (1, 1, times, 1)))[:, :, 0]
        length, d = q.shape[1], q.shape[3]
        scores = jnp.einsum("bqhd,bkd->bhqk", q, k) / d**0.5
        seen = jnp.tril(jnp.ones((length, length), bool))
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        out = jnp.einsum("bhqk,bkd->bqhd", weights, v)
        return lax.all_to_all(out, "s", split_axis=1, concat_axis=2, tiled=True)

    spec = P(None, "s")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec
    )(q, k, v)


# what: in zigzag the way back is walked backwards: the rows of the second chunk of a device lie in falling order.
def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]

    def local(x):
        rows, d = x.shape
        chunk, half = rows // 2, d // 2
        i = lax.axis_index("s")
        up = i * chunk + jnp.arange(chunk)
        down = (2 * n - 1 - i) * chunk + jnp.arange(chunk - 1, -1, -1)
        p = jnp.concatenate([up, down]).astype(jnp.float32)
        speed = 10000.0 ** (-2.0 * jnp.arange(half) / d)
        angle = p[:, None] * speed[None, :]
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        a, b = x[:, :half], x[:, half:]
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)

    return jax.shard_map(local, mesh=mesh, in_specs=P("s"), out_specs=P("s"))(x)


# what: in Ulysses all four arrays that travel (q, k, v and the result) are of one size, that of the keys.
def cheapest_way(
    heads: int, groups: int, block: int, n: int
) -> tuple[str, int]:
    ring = 2 * block * (n - 1)
    if groups % n:
        return "ring", ring
    ulysses = 4 * block // n * (n - 1)
    return ("ulysses", ulysses) if ulysses < ring else ("ring", ring)
