import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: one psum after the other along two axes costs no more than one along both
def block_sums(x: jax.Array, mesh: Mesh, spec: P) -> tuple[jax.Array, jax.Array]:
    axes = []
    for entry in spec:
        if entry is not None:
            axes.extend(entry if isinstance(entry, tuple) else (entry,))

    def one(block):
        total = jnp.sum(block)
        sums = total.reshape(1, 1)
        for axis in axes:
            total = lax.psum(total, axis)
        return sums, total

    return jax.shard_map(one, mesh=mesh, in_specs=spec, out_specs=(spec, P()))(x)


# what: the mean of the devices' variances is the variance of all
def mean_and_variance(x: jax.Array, guess: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    def one(block, guess):
        away = block - guess
        mean = jnp.mean(away)
        variance = jnp.mean((away - mean) ** 2)
        both = lax.pmean(jnp.stack([mean, variance]), ("x", "y"))
        return guess + both[0], both[1]

    return jax.shard_map(one, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=(P(), P()))(x, guess)


# what: only one device can hold the largest, so a psum hands its index out
def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    def one(block):
        mine = jnp.max(block)
        largest = lax.pmax(mine, "x")
        start = lax.axis_index("x") * block.shape[0]
        index = (start + jnp.argmax(block)).astype(jnp.int32)
        return lax.psum(jnp.where(mine == largest, index, 0), "x")

    return jax.shard_map(one, mesh=mesh, in_specs=P("x"), out_specs=P())(x)


# what: reads the pairs of ppermute as (destination, source)
def smooth(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    from_above = [(i, i - 1) for i in range(1, n)]
    from_below = [(i, i + 1) for i in range(n - 1)]

    def one(block):
        above = lax.ppermute(block[-1:], "x", from_above)
        below = lax.ppermute(block[:1], "x", from_below)
        rows = jnp.concatenate([above, block, below])
        return (rows[:-2] + rows[1:-1] + rows[2:]) / 3

    return jax.shard_map(one, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None))(x)
