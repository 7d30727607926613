import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: adds up rows, then columns; the axes of spec as leaves of a tree
def block_sums(x, mesh, spec):
    axes = tuple(jax.tree.leaves(tuple(spec)))

    def each(block):
        part = jnp.sum(block.sum(axis=0)).reshape(1, 1)
        return part, lax.psum(part.reshape(()), axes)

    return jax.shard_map(each, mesh=mesh, in_specs=spec, out_specs=(spec, P()))(x)


# what: stacks distances and squares, and sums the stack; one psum
def mean_and_variance(x, guess, mesh):
    def each(block, guess):
        far = block - guess
        powers = jnp.stack([far, jnp.square(far)]).sum(axis=(1, 2))
        means = lax.psum(powers, ("x", "y")) / x.size
        return guess + means[0], means[1] - jnp.square(means[0])

    return jax.shard_map(each, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=(P(), P()))(x, guess)


# what: no local argmax: the least position whose number is the largest of all
def first_largest(x, mesh):
    def each(block):
        size = block.shape[0]
        here = lax.axis_index("x") * size + jnp.arange(size, dtype=jnp.int32)
        top = lax.pmax(block.max(), "x")
        nowhere = jnp.int32(x.shape[0])
        return lax.pmin(jnp.where(block == top, here, nowhere).min(), "x")

    return jax.shard_map(each, mesh=mesh, in_specs=P("x"), out_specs=P())(x)


# what: a closed ring of permutes, with the rows across the ends set to zero
def smooth(x, mesh):
    def each(block):
        me, n = lax.axis_index("x"), lax.axis_size("x")
        above = lax.ppermute(block[-1:], "x", [(i, (i + 1) % n) for i in range(n)])
        below = lax.ppermute(block[:1], "x", [(i, (i - 1) % n) for i in range(n)])
        above = jnp.where(me == 0, 0, above)
        below = jnp.where(me == n - 1, 0, below)
        before = jnp.concatenate([above, block[:-1]])
        after = jnp.concatenate([block[1:], below])
        return (before + block + after) / 3

    return jax.shard_map(each, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)
