import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: A total over "all devices" is summed along every axis of the mesh, so copies along an axis that spec does not name are counted again.
def block_sums(
    x: jax.Array, mesh: Mesh, spec: P
) -> tuple[jax.Array, jax.Array]:
    everyone = tuple(mesh.axis_names)

    def local(block):
        mine = block.sum(axis=(0, 1), keepdims=True)
        return mine, lax.psum(mine[0, 0], everyone)

    return jax.shard_map(
        local, mesh=mesh, in_specs=spec, out_specs=(spec, P()), check_vma=False
    )(x)


# what: The variance of all numbers is believed to be the mean of the devices' own variances, without the spread of their means.
def mean_and_variance(
    x: jax.Array, guess: jax.Array, mesh: Mesh
) -> tuple[jax.Array, jax.Array]:
    def local(block, near):
        away = block - near
        centre = jnp.mean(away)
        spread = jnp.mean(jnp.square(away - centre))
        centre, spread = lax.pmean(jnp.stack([centre, spread]), ("x", "y"))
        return near + centre, spread

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=(P(), P())
    )(x, guess)


# what: Exactly one device is believed to hold the largest number, so the indices of the holders are brought together with a sum.
def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    def local(part):
        best = jnp.max(part)
        start = lax.axis_index("x") * part.shape[0]
        place = (start + jnp.argmax(part)).astype(jnp.int32)
        winner = best == lax.pmax(best, "x")
        return lax.psum(jnp.where(winner, place, jnp.int32(0)), "x")

    return jax.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P())(x)


# what: The pairs of ppermute are read as (receiver, sender) instead of (sender, receiver), so each device gets the last row of the device below as its upper neighbour and the first row of the device above as its lower one.
def smooth(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    from_above = [(me, me - 1) for me in range(1, n)]
    from_below = [(me, me + 1) for me in range(n - 1)]

    def local(rows):
        upper = lax.ppermute(rows[-1:], "x", perm=from_above)
        lower = lax.ppermute(rows[:1], "x", perm=from_below)
        tall = jnp.concatenate([upper, rows, lower], axis=0)
        return (tall[:-2] + tall[1:-1] + tall[2:]) / 3

    return jax.shard_map(
        local, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None)
    )(x)
