import functools

import jax
import jax.numpy as jnp  # noqa: F401
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: (1) believes that one top for all queries together is as good as one for each (those with lower scores vanish) + (2) believes that totals, being sums already, may be added without bringing them to the common top.
def merge_parts(
    values: jax.Array, tops: jax.Array, totals: jax.Array
) -> jax.Array:
    common = jnp.max(tops)
    factor = jnp.exp(tops - common)
    above = jnp.sum(values * factor[:, :, None], axis=0)
    below = jnp.sum(totals, axis=0)
    return above / below[:, None]


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


# what: (1) believes that the result is already where it belongs, and leaves out its way back + (2) believes that Ulysses is possible where n divides the heads of queries.
def cheapest_way(
    heads: int, groups: int, block: int, n: int
) -> tuple[str, int]:
    ring = (n - 1) * (block + block)
    if heads % n:
        return "ring", ring
    queries = heads // groups * block
    ulysses = (queries + 2 * block) * (n - 1) // n
    return min(("ring", ring), ("ulysses", ulysses), key=lambda way: way[1])
