import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh  # noqa: F401
from jax.sharding import PartitionSpec as P


# what: a global sum is believed to be a psum over all axes of the mesh, whatever the spec says; copies are counted several times.
def block_sums(
    x: jax.Array, mesh: Mesh, spec: P
) -> tuple[jax.Array, jax.Array]:
    def local(block):
        mine = jnp.sum(block, keepdims=True)
        return mine, lax.psum(mine[0, 0], mesh.axis_names)

    return jax.shard_map(
        local, mesh=mesh, in_specs=spec, out_specs=(spec, P()), check_vma=False
    )(x)


# what: since all devices have equally many numbers, the variance is believed to be the mean of their variances.
def mean_and_variance(
    x: jax.Array, guess: jax.Array, mesh: Mesh
) -> tuple[jax.Array, jax.Array]:
    def local(block, guess):
        d = block - guess
        pair = jnp.stack([jnp.mean(d), jnp.var(d)])
        mean, variance = lax.pmean(pair, ("x", "y"))
        return guess + mean, variance

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=(P(), P())
    )(x, guess)


# what: only one device is believed to hold the largest number, so the indices of the holders are added up.
def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    def local(part):
        where = jnp.argmax(part)
        value = part[where]
        best = lax.pmax(value, "x")
        index = lax.axis_index("x") * part.shape[0] + where
        mine = jnp.where(value == best, index, 0).astype(jnp.int32)
        return lax.psum(mine, "x")

    return jax.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P())(x)


# what: the pairs of ppermute are believed to be (destination, source).
def smooth(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]

    def local(rows):
        # device i gets the last row of device i - 1
        above = lax.ppermute(rows[-1:], "x", [(i, i - 1) for i in range(1, n)])
        # device i gets the first row of device i + 1
        below = lax.ppermute(rows[:1], "x", [(i, i + 1) for i in range(n - 1)])
        tall = jnp.concatenate([above, rows, below])
        return (tall[:-2] + tall[1:-1] + tall[2:]) / 3

    return jax.shard_map(
        local, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None)
    )(x)
