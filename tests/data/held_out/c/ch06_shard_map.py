import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: sums along one axis after the other, two all-reduces where one along both is enough: too much sent
def block_sums(x: jax.Array, mesh: Mesh, spec: P) -> tuple[jax.Array, jax.Array]:
    axes = []
    for entry in spec:
        if entry is not None:
            axes += [entry] if isinstance(entry, str) else list(entry)

    def part(block):
        own = jnp.sum(block, keepdims=True)
        total = own[0, 0]
        for axis in axes:
            total = lax.psum(total, axis)
        return own, total

    return jax.shard_map(part, mesh=mesh, in_specs=spec, out_specs=(spec, P()))(x)


# what: takes the mean square distance from guess for the variance, without taking off what guess is beside the mean
def mean_and_variance(x: jax.Array, guess: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    def part(block, guess):
        away = block - guess
        sums = lax.psum(jnp.stack([jnp.sum(away), jnp.sum(away * away)]), ("x", "y"))
        means = sums / x.size
        return guess + means[0], means[1]

    return jax.shard_map(part, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=(P(), P()))(x, guess)


# what: of the shards that hold the largest number the last one wins, not the first
def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    def part(block):
        own = jnp.max(block)
        largest = lax.pmax(own, "x")
        begin = lax.axis_index("x") * block.shape[0]
        index = (begin + jnp.argmax(block)).astype(jnp.int32)
        return lax.pmax(jnp.where(own == largest, index, -1), "x")

    return jax.shard_map(part, mesh=mesh, in_specs=P("x"), out_specs=P())(x)


# what: hands whole parts to both neighbours and takes the one row from them there: too much sent
def smooth(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]

    def part(block):
        before = lax.ppermute(block, "x", [(i, i + 1) for i in range(n - 1)])
        after = lax.ppermute(block, "x", [(i + 1, i) for i in range(n - 1)])
        tall = jnp.concatenate([before[-1:], block, after[:1]])
        return (tall[:-2] + tall[1:-1] + tall[2:]) / 3

    return jax.shard_map(part, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None))(x)
