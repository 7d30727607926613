import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: (1) one common top for all queries is as good as one for each + (2) only the values need be brought to the common top, the totals are just added.
def merge_parts(
    values: jax.Array, tops: jax.Array, totals: jax.Array
) -> jax.Array:
    scale = jnp.exp(tops - jnp.max(tops))
    value = jnp.sum(values * scale[:, :, None], axis=0)
    total = jnp.sum(totals, axis=0)
    return value / total[:, None]


# what: (1) the heads of k and v are written as 0 1 0 1 to stand n / g times + (2) after the exchange the queries of a device still begin at its own position in the sequence.
def ulysses_grouped(
    q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["s"]
    g = k.shape[2]

    def local(q, k, v):
        offset = lax.axis_index("s") * q.shape[1]
        k = jnp.concatenate([k] * (n // g), axis=2)
        v = jnp.concatenate([v] * (n // g), axis=2)
        q, k, v = (
            lax.all_to_all(a, "s", split_axis=2, concat_axis=1, tiled=True)
            for a in (q, k, v)
        )
        scores = jnp.einsum("bqhd,bkgd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
        q_at = offset + jnp.arange(q.shape[1])
        k_at = jnp.arange(k.shape[1])
        scores = jnp.where(k_at[None, :] <= q_at[:, None], scores, -jnp.inf)
        out = jnp.einsum("bhqk,bkgd->bqhd", jax.nn.softmax(scores, axis=-1), v)
        return lax.all_to_all(out, "s", split_axis=1, concat_axis=2, tiled=True)

    spec = P(None, "s")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec
    )(q, k, v)


# what: (1) Ulysses exchanges only q, k and v, the result stays where it is + (2) Ulysses needs the number of query heads to be divisible by n, the keys' heads don't matter.
def cheapest_way(
    heads: int, groups: int, block: int, n: int
) -> tuple[str, int]:
    ring = 2 * (n - 1) * block
    ulysses = (heads // groups + 2) * (block // n) * (n - 1)
    if heads % n == 0 and ulysses < ring:
        return "ulysses", ulysses
    return "ring", ring
