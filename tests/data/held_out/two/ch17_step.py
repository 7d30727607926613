from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: this answer believes that an array of the state belongs to the first parameter of its shape, and that other arrays need not be placed
def state_like(optimizer: optax.GradientTransformation, params: dict, mesh: Mesh) -> list:
    by_shape = {}
    for param in params.values():
        by_shape.setdefault(param.shape, param.sharding)
    placed = []
    for leaf in jax.tree.leaves(optimizer.init(params)):
        if leaf.shape in by_shape:
            leaf = jax.device_put(leaf, by_shape[leaf.shape])
        placed.append(leaf)
    return placed


# what: this answer believes that a ring all-reduce costs as much as one reduce-scatter, and that ZeRO-3 holds whole weights between two steps
def zero_bytes(parameters: int, n: int, stage: str, parts: int) -> Mapping[str, int]:
    whole = 4 * parameters
    part = whole // n
    once = part * (n - 1)
    if stage == "DP":
        return {"held": 3 * whole, "sent": once}
    if stage == "ZeRO-1":
        return {"held": whole + 2 * part, "sent": 2 * once}
    if stage == "ZeRO-2":
        return {"held": whole + 2 * part, "sent": (parts + 1) * once}
    return {"held": whole + 2 * part, "sent": 3 * parts * once}


# what: this answer believes that each device clips its own part by its own norm, and that the mean over its own rows is the loss
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
        norm = jnp.sqrt(jnp.sum(g * g))
        g = g * jnp.where(norm > limit, limit / norm, 1.0)
        momentum = 0.9 * momentum + g
        rows = momentum.shape[0]
        start = lax.axis_index("data") * rows
        mine = lax.dynamic_slice_in_dim(w, start, rows, axis=0)
        mine = mine - 0.1 * momentum
        return lax.all_gather(mine, "data", axis=0, tiled=True), momentum

    cut = P("data", None)
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), cut, cut, cut),
        out_specs=(P(None, None), cut),
        check_vma=False,
    )(w, momentum, x, y)


# what: this answer believes that gradients of several devices are averaged, and that microbatches may be added up in bf16
def summed_in_f32(loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:

    def local(w, x):
        low = w.astype(jnp.bfloat16)

        def add(total, rows):
            return total + jax.grad(loss)(low, rows), None

        total, _ = lax.scan(add, jnp.zeros_like(low), x)
        return lax.pmean(total.astype(jnp.float32), "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P(None, "data", None)),
        out_specs=P(None, None),
        check_vma=False,
    )(w, x)


# what: this answer believes that one checkpoint around all layers saves the memory of each, and that the gradient of a w with a copy everywhere is the same everywhere without a sum
def keep_by_name(layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:

    def stack(w, x):
        out, _ = lax.scan(lambda x, row: (layer(x, row), None), x, w)
        return out

    again = jax.checkpoint(stack)

    def local(w, x):
        return jax.grad(lambda w: jnp.sum(again(w, x) ** 2))(w)

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P("data", None)),
        out_specs=P(None, None),
        check_vma=False,
    )(w, x)
