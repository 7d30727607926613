import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: (1) any holder of the largest number is believed to do, so the largest of the holders' indices wins instead of the first + (2) the search for the maximum starts from 0, so an array of negative numbers has no holder.
def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    def shard(values):
        top = lax.pmax(jnp.max(values, initial=0.0), "x")
        local = jnp.argmax(values).astype(jnp.int32)
        offset = (lax.axis_index("x") * values.size).astype(jnp.int32)
        has_it = values[local] == top
        return lax.pmax(jnp.where(has_it, offset + local, -1), "x")

    return jax.shard_map(shard, mesh=mesh, in_specs=(P("x"),), out_specs=P())(x)


# what: (1) Copies along an axis that spec does not name are added into the total + (2) the sums of the blocks must be gathered so that every device has all of them.
def block_sums(
    x: jax.Array, mesh: Mesh, spec: P
) -> tuple[jax.Array, jax.Array]:
    def per_block(block):
        s = block.sum(keepdims=True)
        total = s.reshape(())
        for axis in mesh.axis_names:
            total = lax.psum(total, axis)
        gathered = s
        for dim, entry in enumerate(spec):
            if entry is not None:
                gathered = lax.all_gather(gathered, entry, axis=dim, tiled=True)
        return gathered, total

    f = jax.shard_map(
        per_block,
        mesh=mesh,
        in_specs=spec,
        out_specs=(P(None, None), P()),
        check_vma=False,
    )
    sums, total = f(x)
    return sums, total


# what: closes the ring, so that the first row meets the last one + sends the first row on and the last row back, the wrong way round
def smooth(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]

    def part(block):
        above = lax.ppermute(block[:1], "x", [(i, (i + 1) % n) for i in range(n)])
        below = lax.ppermute(block[-1:], "x", [(i, (i - 1) % n) for i in range(n)])
        tall = jnp.concatenate([above, block, below])
        return (tall[:-2] + tall[1:-1] + tall[2:]) / 3

    return jax.shard_map(part, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None))(x)
