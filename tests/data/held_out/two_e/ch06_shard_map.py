import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh  # noqa: F401
from jax.sharding import PartitionSpec as P


# what: (1) the total is believed to run over all devices of the mesh, so copies are counted again + (2) every device is believed to have to collect all the block sums before it can add them up.
def block_sums(
    x: jax.Array, mesh: Mesh, spec: P
) -> tuple[jax.Array, jax.Array]:
    def local(block):
        mine = block.sum(keepdims=True)
        everyone = lax.all_gather(mine[0, 0], mesh.axis_names)
        return mine, everyone.sum()

    return jax.shard_map(
        local, mesh=mesh, in_specs=spec, out_specs=(spec, P()), check_vma=False
    )(x)


# what: (1) pmax is believed to be right for the index as well, so the last of several shards wins + (2) shard i is believed to begin at i times the number of devices, not i times its own length.
def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    def local(part):
        where = jnp.argmax(part).astype(jnp.int32)
        value = part[where]
        best = lax.pmax(value, "x")
        begin = lax.axis_index("x") * mesh.shape["x"]
        mine = jnp.where(value == best, begin + where, -1)
        return lax.pmax(mine.astype(jnp.int32), "x")

    return jax.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P())(x)
