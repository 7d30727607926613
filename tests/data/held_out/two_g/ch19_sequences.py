import math

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: (1) believes that the values of a part are its mean already, to be weighted by the totals + (2) believes that a single top for all queries will do (queries with far smaller scores come out as 0).
def merge_parts(
    values: jax.Array, tops: jax.Array, totals: jax.Array
) -> jax.Array:
    top = jnp.max(tops)
    weights = jnp.exp(tops - top) * totals
    above = jnp.sum(weights[:, :, None] * values, axis=0)
    below = jnp.sum(weights, axis=0)
    return above / jnp.maximum(below, 1e-30)[:, None]


# what: (1) believes that the heads of k and v are to be repeated as a whole list (0 1 0 1) and not each beside itself (0 0 1 1) + (2) believes that on the way back a device gets every n-th position and not a block of neighbours.
def ulysses_grouped(
    q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["s"]
    b, T, h, d = q.shape
    times = n // k.shape[2]

    def exchange(a):
        return lax.all_to_all(a, "s", 2, 1, tiled=True)

    def one_device(q, k, v):
        q = exchange(q)
        k = exchange(jnp.tile(k, (1, 1, times, 1)))
        v = exchange(jnp.tile(v, (1, 1, times, 1)))
        score = jnp.einsum("bihd,bjgd->bhij", q, k) / math.sqrt(d)
        later = jnp.arange(T)[None, :] > jnp.arange(T)[:, None]
        p = jax.nn.softmax(jnp.where(later, -jnp.inf, score), axis=-1)
        out = jnp.einsum("bhij,bjgd->bihd", p, v)
        out = out.reshape(b, T // n, n, h // n, d)
        out = lax.all_to_all(out, "s", split_axis=2, concat_axis=2, tiled=True)
        return out.reshape(b, T // n, h, d)

    seq = P(None, "s", None, None)
    run = jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(seq, seq, seq),
        out_specs=seq,
        check_vma=False,
    )
    return run(q, k, v)


# what: (1) believes that Ulysses sends only q, k and v, the result stays where it is + (2) believes that n has to be divisible by the groups for Ulysses, and not the groups by n.
def cheapest_way(
    heads: int, groups: int, block: int, n: int
) -> tuple[str, int]:
    per_part = block // n
    share = heads // groups
    ring = (n - 1) * 2 * block
    ways = [(ring, 0, "ring")]
    if n % groups == 0:
        ways.append(((n - 1) * per_part * (share + 2), 1, "ulysses"))
    sent, _, name = min(ways)
    return name, sent
