import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh  # noqa: F401
from jax.sharding import PartitionSpec as P


# what: The total is the psum of the blocks along all axes of the mesh, also where devices hold copies.
def block_sums(
    x: jax.Array, mesh: Mesh, spec: P
) -> tuple[jax.Array, jax.Array]:
    everyone = tuple(mesh.axis_names)

    def body(block):
        own = jnp.sum(block, axis=(0, 1), keepdims=True)
        return own, lax.psum(own[0, 0], everyone)

    return jax.shard_map(
        body, mesh=mesh, in_specs=spec, out_specs=(spec, P()), check_vma=False
    )(x)


# what: The variance of all numbers is the mean of the variances of the shards.
def mean_and_variance(
    x: jax.Array, guess: jax.Array, mesh: Mesh
) -> tuple[jax.Array, jax.Array]:
    def body(block, near):
        offset = block - near
        centre = offset.mean()
        scatter = jnp.mean(jnp.square(offset - centre))
        both = lax.psum(jnp.stack([centre, scatter]), ("x", "y")) / mesh.size
        return near + both[0], both[1]

    run = jax.shard_map(
        body, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=(P(), P())
    )
    return run(x, guess)


# what: Only one device holds the largest number, so adding up the indices, zero elsewhere, gives its index.
def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    def body(part):
        top = jnp.max(part)
        best = lax.pmax(top, "x")
        begin = lax.axis_index("x") * part.size
        place = begin + jnp.argmax(part)
        mine = jnp.where(top == best, place, 0).astype(jnp.int32)
        return lax.psum(mine, "x")

    return jax.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P())(x)


# what: The pairs of ppermute are (destination, source).
def smooth(x: jax.Array, mesh: Mesh) -> jax.Array:
    count = mesh.shape["x"]

    def body(rows):
        # the row above comes from the device before, the one below from the next
        from_before = [(i, i - 1) for i in range(1, count)]
        from_next = [(i, i + 1) for i in range(count - 1)]
        above = lax.ppermute(rows[-1:], "x", from_before)
        below = lax.ppermute(rows[:1], "x", from_next)
        tall = jnp.concatenate([above, rows, below], axis=0)
        return (tall[:-2] + tall[1:-1] + tall[2:]) / 3

    return jax.shard_map(
        body, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None)
    )(x)
