import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: Because sums are linear, the partial sums along "y" are believed to pass from layer to layer as they are, so that one all-reduce after the last layer is enough.
def keep_the_batch_apart(
    batch: jax.Array, layers: list[tuple[jax.Array, jax.Array]], mesh: Mesh
) -> jax.Array:
    def local(rows, pairs):
        for w1, w2 in pairs:
            first = lax.all_gather(w1, "x", axis=0, tiled=True)
            second = lax.all_gather(w2, "x", axis=1, tiled=True)
            rows = jnp.tanh(rows @ first) @ second
        return lax.psum(rows, "y")

    specs = [(P("x", "y"), P("y", "x")) for _ in layers]
    run = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("x", None), specs),
        out_specs=P("x", None),
        check_vma=False,
    )
    return run(batch, list(layers))


# what: After the reduce-scatter along "x" the pieces are believed to lie in the mesh's own order ("x", "y"), although each device cuts its "y" block further along "x".
def spread_sums(x: jax.Array, mesh: Mesh) -> jax.Array:
    def local(block):
        sums = jnp.sum(block, axis=0)
        return lax.psum_scatter(sums, "x", scatter_dimension=0, tiled=True)

    return jax.shard_map(
        local, mesh=mesh, in_specs=P("x", "y"), out_specs=P(("x", "y"))
    )(x)
