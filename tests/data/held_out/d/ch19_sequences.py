import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: what this answer believes: when a part with a larger top comes, only the new part is scaled; what is summed already stays as it is.
def merge_parts(values: jax.Array, tops: jax.Array, totals: jax.Array) -> jax.Array:
    top, acc, total = tops[0], values[0], totals[0]
    for part in range(1, tops.shape[0]):
        new = jnp.maximum(top, tops[part])
        w = jnp.where(jnp.isneginf(tops[part]), 0.0, jnp.exp(tops[part] - new))
        acc = acc + w[:, None] * values[part]
        total = total + w * totals[part]
        top = new
    return acc / total[:, None]


# what: what this answer believes: with so few heads of k and v an all-gather of them is cheaper than copying the heads for an all-to-all.
def ulysses_grouped(q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    T, d, g = q.shape[1], q.shape[3], k.shape[2]

    def local(q, k, v):
        q = lax.all_to_all(q, "s", 2, 1, tiled=True)
        k = lax.all_gather(k, "s", axis=1, tiled=True)
        v = lax.all_gather(v, "s", axis=1, tiled=True)
        mine = lax.axis_index("s") // (n // g)
        k = lax.dynamic_index_in_dim(k, mine, axis=2, keepdims=False)
        v = lax.dynamic_index_in_dim(v, mine, axis=2, keepdims=False)
        score = jnp.einsum("bqhd,bkd->bhqk", q, k) / d**0.5
        score = jnp.where(jnp.tril(jnp.ones((T, T), bool)), score, -jnp.inf)
        out = jnp.einsum("bhqk,bkd->bqhd", jax.nn.softmax(score, -1), v)
        return lax.all_to_all(out, "s", 1, 2, tiled=True)

    spec = P(None, "s")
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(spec, spec, spec),
        out_specs=spec,
        check_vma=False,
    )(q, k, v)


# what: what this answer believes: a row has d / 2 pairs, so the exponent is divided by d / 2 instead of d.
def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    half = x.shape[1] // 2

    def local(x):
        c = x.shape[0] // 2
        i = lax.axis_index("s")
        chunk = jnp.stack([i, 2 * n - 1 - i])
        pos = (chunk[:, None] * c + jnp.arange(c)).reshape(-1)
        angle = pos[:, None] * 10000.0 ** (-2 * jnp.arange(half) / half)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        a, b = x[:, :half], x[:, half:]
        return jnp.hstack([a * cos - b * sin, a * sin + b * cos])

    return jax.shard_map(local, mesh=mesh, in_specs=P("s"), out_specs=P("s"))(x)
