import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: After the reduce-scatter along "x" the pieces are believed to lie in the mesh's own order ("x", "y"), although each device cuts its "y" block further along "x".
def spread_sums(x: jax.Array, mesh: Mesh) -> jax.Array:
    def local(block):
        sums = jnp.sum(block, axis=0)
        return lax.psum_scatter(sums, "x", scatter_dimension=0, tiled=True)

    return jax.shard_map(
        local, mesh=mesh, in_specs=P("x", "y"), out_specs=P(("x", "y"))
    )(x)


# what: What a block of rows must add is believed to be the total of the one block right above it, not of all blocks above it.
def running_totals(x: jax.Array, mesh: Mesh) -> jax.Array:
    blocks = mesh.shape["x"]

    def local(part):
        here = jnp.cumsum(part, axis=0)
        columns = lax.all_to_all(
            here, "x", split_axis=1, concat_axis=0, tiled=True
        )
        stacked = columns.reshape(blocks, -1, columns.shape[1])
        ends = stacked[:, -1:, :]
        before = jnp.concatenate([jnp.zeros_like(ends[:1]), ends[:-1]])
        return (stacked + before).reshape(columns.shape)

    return jax.shard_map(
        local, mesh=mesh, in_specs=P("x", "y"), out_specs=P(None, ("y", "x"))
    )(x)


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


# what: The bias is added on every device before the partial products are summed, as if adding it locally counted it once.
def dense(x: jax.Array, w: jax.Array, b: jax.Array, mesh: Mesh) -> jax.Array:
    def local(x_part, w_part, bias):
        affine = x_part @ w_part + bias
        return jax.nn.relu(lax.psum(affine, "y"))

    layer = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("x", "y"), P("y", None), P()),
        out_specs=P("x", None),
    )
    return layer(x, w, b)
