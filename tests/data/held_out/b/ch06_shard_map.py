import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: leaves the total to the compiler, which adds up axis by axis
def block_sums(x, mesh, spec):
    sums = jax.shard_map(
        lambda block: block.sum(keepdims=True),
        mesh=mesh,
        in_specs=spec,
        out_specs=spec,
    )(x)
    return sums, sums.sum()


# what: first the mean, then the distances from it, in a second all-reduce
def mean_and_variance(x, guess, mesh):
    def each(block, guess):
        axes = ("x", "y")
        mean = guess + lax.psum((block - guess).sum(), axes) / x.size
        return mean, lax.psum(((block - mean) ** 2).sum(), axes) / x.size

    return jax.shard_map(each, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=(P(), P()))(x, guess)


# what: leaves it to the compiler, which gathers all candidates
def first_largest(x, mesh):
    return jnp.argmax(x).astype(jnp.int32)


# what: sends whole blocks and takes the one row of them that is needed
def smooth(x, mesh):
    def each(block):
        n = lax.axis_size("x")
        down = [(i, i + 1) for i in range(n - 1)]
        up = [(i + 1, i) for i in range(n - 1)]
        above = lax.ppermute(block, "x", down)[-1:]
        below = lax.ppermute(block, "x", up)[:1]
        rows = jnp.concatenate([above, block, below])
        return (rows[:-2] + rows[1:-1] + rows[2:]) / 3

    return jax.shard_map(each, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)
