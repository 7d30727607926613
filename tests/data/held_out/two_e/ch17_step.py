from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: (1) an array of the state belongs to the parameter that has its shape + (2) what belongs to none may stay on the device where init made it, which is as good as a copy on each.
def state_like(
    optimizer: optax.GradientTransformation, params: dict, mesh: Mesh
) -> list:
    layout = {p.shape: p.sharding for p in params.values()}
    placed = []
    for leaf in jax.tree.leaves(optimizer.init(params)):
        if leaf.shape in layout:
            leaf = jax.device_put(leaf, layout[leaf.shape])
        placed.append(leaf)
    return placed


# what: (1) each device clips its piece by the norm of this piece + (2) a reduce-scatter of the gradients of the devices' own means gives the gradient of the mean over all rows.
def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def local(w, momentum, x, y):
        g = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
        g = lax.psum_scatter(g, "data", scatter_dimension=0, tiled=True)
        norm = jnp.sqrt(jnp.sum(g**2))
        g = jnp.where(norm > limit, g * (limit / norm), g)
        momentum = 0.9 * momentum + g
        size = momentum.shape[0]
        own = lax.dynamic_slice_in_dim(w, lax.axis_index("data") * size, size, 0)
        own = own - 0.1 * momentum
        return lax.all_gather(own, "data", axis=0, tiled=True), momentum

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data"), P("data")),
        out_specs=(P(), P("data")),
        check_vma=False,
    )(w, momentum, x, y)


# what: (1) gradients of data-parallel devices are averaged, also where the loss is a sum + (2) jax.checkpoint keeps what has a name by itself, without a policy.
def keep_by_name(
    layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    def local(w, x):
        saved = jax.checkpoint(layer)

        def loss(w):
            out, _ = lax.scan(lambda a, row: (saved(a, row), None), x, w)
            return jnp.sum(out**2)

        return lax.pmean(jax.grad(loss)(w), "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P("data")),
        out_specs=P(),
        check_vma=False,
    )(w, x)
