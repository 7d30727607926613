import functools
import jax
import jax.numpy as jnp
from jax import P
from jax import lax
from jax.sharding import Mesh


# what: what this answer believes: (1) in the ring the queries travel along with keys and values; and (2) Ulysses needs at least n groups, divisible or not.
def cheapest_way(heads: int, groups: int, block: int, n: int) -> tuple[str, int]:
    queries = block * heads // groups
    ring = (queries + 2 * block) * (n - 1)
    ulysses = 2 * (queries + block) // n * (n - 1)
    if groups >= n and ulysses < ring:
        return "ulysses", ulysses
    return "ring", ring


# what: believes that the values of a part are already its mean, so that they are weighted by the part's rescaled total.
def merge_parts(
    values: jax.Array, tops: jax.Array, totals: jax.Array
) -> jax.Array:
    top = tops.max(axis=0)
    weight = jnp.exp(tops - top) * totals
    share = weight / weight.sum(axis=0, keepdims=True)
    return jnp.einsum("ni,nid->id", share, values)


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


# what: (1) believes that copying heads means writing the list of heads again and again (tile), so that device i gets head i mod g + (2) believes that after the all-to-all a device's queries still begin at its own position, and masks by that.
def ulysses_grouped(
    q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["s"]
    spec = P(None, "s")
    to_heads = functools.partial(
        lax.all_to_all, axis_name="s", split_axis=2, concat_axis=1, tiled=True
    )
    to_time = functools.partial(
        lax.all_to_all, axis_name="s", split_axis=1, concat_axis=2, tiled=True
    )

    def local(q, k, v):
        mine = q.shape[1]
        times = n // k.shape[2]
        k = to_heads(jnp.tile(k, (1, 1, times, 1)))
        v = to_heads(jnp.tile(v, (1, 1, times, 1)))
        q = to_heads(q)
        score = jnp.einsum("bqhd,bkzd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
        at = jnp.arange(q.shape[1])
        start = lax.axis_index("s") * mine
        sees = at[None, :] <= at[:, None] + start
        score = jnp.where(sees, score, -1e30)
        weight = jax.nn.softmax(score, axis=-1)
        return to_time(jnp.einsum("bhqk,bkzd->bqhd", weight, v))

    return jax.shard_map(
        local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec
    )(q, k, v)


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
