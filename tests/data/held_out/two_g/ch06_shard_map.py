import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: (1) the total is summed over all axes of the mesh, so copies count again + (2) every device is believed to have a block of its own at its place in the mesh, so sums is always laid out P("x", "y").
def block_sums(
    x: jax.Array, mesh: Mesh, spec: P
) -> tuple[jax.Array, jax.Array]:
    def one_block(block):
        total = jnp.sum(block)
        return total.reshape(1, 1), lax.psum(total, ("x", "y"))

    f = jax.shard_map(
        one_block,
        mesh=mesh,
        in_specs=(spec,),
        out_specs=(P("x", "y"), P()),
        check_vma=False,
    )
    return f(x)


# what: (1) any holder of the largest number is believed to do, so the largest of the holders' indices wins instead of the first + (2) the search for the maximum starts from 0, so an array of negative numbers has no holder.
def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    def shard(values):
        top = lax.pmax(jnp.max(values, initial=0.0), "x")
        local = jnp.argmax(values).astype(jnp.int32)
        offset = (lax.axis_index("x") * values.size).astype(jnp.int32)
        has_it = values[local] == top
        return lax.pmax(jnp.where(has_it, offset + local, -1), "x")

    return jax.shard_map(shard, mesh=mesh, in_specs=(P("x"),), out_specs=P())(x)
