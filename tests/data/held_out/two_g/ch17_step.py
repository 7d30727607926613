from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: (1) believes that the shape tells to which parameter an array of the state belongs + (2) believes that the other arrays need no placing, because a count on one device is there for all.
def state_like(
    optimizer: optax.GradientTransformation, params: dict, mesh: Mesh
) -> list:
    by_shape = {}
    for array in params.values():
        by_shape.setdefault(array.shape, array.sharding)

    def place(leaf):
        if leaf.shape in by_shape:
            return jax.device_put(leaf, by_shape[leaf.shape])
        return leaf

    return [place(leaf) for leaf in jax.tree.leaves(optimizer.init(params))]


# what: (1) believes that the mean over all rows comes from summing the devices' gradients of their own means (n times too large) + (2) believes that each device may clip its part by the norm of this part.
def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    size = w.shape[0] // mesh.shape["data"]

    def loss(weights, rows, wanted):
        return jnp.square(rows @ weights - wanted).mean()

    def clip(g):
        norm = jnp.linalg.norm(g)
        return jnp.where(norm > limit, g * (limit / norm), g)

    def one_device(weights, m, rows, wanted):
        g = jax.grad(loss)(weights, rows, wanted)
        g = lax.psum_scatter(g, "data", scatter_dimension=0, tiled=True)
        m = 0.9 * m + clip(g)
        mine = lax.dynamic_slice_in_dim(
            weights, lax.axis_index("data") * size, size
        )
        new = lax.all_gather(mine - 0.1 * m, "data", tiled=True)
        return new, m

    step = jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data"), P("data")),
        out_specs=(P(), P("data")),
        check_vma=False,
    )
    return step(w, momentum, x, y)


# what: (1) believes that jax.checkpoint keeps by itself what has a name (without a policy it keeps nothing, features are computed twice) + (2) believes that the gradient of a w that came with P() still has to be summed over the devices, where the types have done it already.
def keep_by_name(
    layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    light = jax.checkpoint(layer)

    def loss(weights, rows):
        last, _ = lax.scan(lambda a, row: (light(a, row), None), rows, weights)
        return (last * last).sum()

    def one_device(weights, rows):
        own = jax.grad(loss)(weights, rows)
        return lax.psum(own, "data")

    return jax.shard_map(
        one_device, mesh=mesh, in_specs=(P(), P("data")), out_specs=P()
    )(w, x)
