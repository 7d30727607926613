from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: (1) Thinks an array of the state belongs to the parameter that has its shape + (2) thinks a count needs no layout, so that it stays on the one device where init made it.
def state_like(
    optimizer: optax.GradientTransformation, params: dict, mesh: Mesh
) -> list:
    layout = {}
    for value in params.values():
        layout[value.shape] = value.sharding

    placed = []
    for leaf in jax.tree.leaves(optimizer.init(params)):
        if leaf.shape in layout:
            leaf = jax.device_put(leaf, layout[leaf.shape])
        placed.append(leaf)
    return placed


# what: (1) Thinks the sum of the devices' own means is the mean over all rows, and does not divide by n + (2) thinks each device may clip its own part of the gradient by that part's norm.
def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def clip(g):
        norm = jnp.sqrt(jnp.sum(g * g))
        return jnp.where(norm > limit, g * (limit / norm), g)

    def step(w, m, x, y):
        mine = 2 * (x.T @ (x @ w - y)) / y.size
        g = clip(lax.psum_scatter(mine, "data", scatter_dimension=0, tiled=True))
        m = 0.9 * m + g
        own = w.reshape(-1, *m.shape)[lax.axis_index("data")]
        w = lax.all_gather(own - 0.1 * m, "data", axis=0, tiled=True)
        return w, m

    return jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data"), P("data")),
        out_specs=(P(), P("data")),
        check_vma=False,
    )(w, momentum, x, y)


# what: (1) Thinks gradients of devices are always averaged, also where the loss is a sum + (2) thinks a name alone makes JAX keep only that array, without jax.checkpoint.
def keep_by_name(
    layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    def loss(w, rows):
        out = lax.scan(lambda h, wi: (layer(h, wi), ()), rows, w)[0]
        return (out**2).sum()

    def on_device(w, rows):
        return lax.pmean(jax.grad(loss)(w, rows), "data")

    mapped = jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=(P(), P("data")),
        out_specs=P(),
        check_vma=False,
    )
    return mapped(w, x)
