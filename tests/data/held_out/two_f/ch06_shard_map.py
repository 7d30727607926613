import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P


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


# what: (1) The index within the shard is the index, wherever the shard begins + (2) among several shards with the largest number the largest index counts.
def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    def locate(shard):
        peak = shard.max()
        overall = lax.pmax(peak, axis_name="x")
        where = jnp.argmax(shard).astype(jnp.int32)
        claim = jnp.where(peak >= overall, where, jnp.int32(-1))
        return lax.pmax(claim, axis_name="x")

    find = jax.shard_map(locate, mesh=mesh, in_specs=P("x"), out_specs=P())
    return find(x)
