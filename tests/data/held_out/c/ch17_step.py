from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: this answer believes that init has already placed all it makes, so only the parameters' arrays are moved and the count stays on one device
def state_like(optimizer: optax.GradientTransformation, params: dict, mesh: Mesh) -> list:
    state = optimizer.init(params)
    placed = optax.tree_utils.tree_map_params(
        optimizer,
        lambda leaf, param: jax.device_put(leaf, param.sharding),
        state,
        params,
    )
    return jax.tree.leaves(placed)


# what: this answer believes that gradients belong to what a device holds between two steps, whole in DP and ZeRO-1, cut in ZeRO-2 and ZeRO-3
def zero_bytes(parameters: int, n: int, stage: str, parts: int) -> Mapping[str, int]:
    whole = 4 * parameters
    part = whole // n
    once = part * (n - 1)
    if stage == "DP":
        return {"held": 4 * whole, "sent": 2 * once}
    if stage == "ZeRO-1":
        return {"held": 2 * whole + 2 * part, "sent": 2 * once}
    if stage == "ZeRO-2":
        return {"held": whole + 3 * part, "sent": (parts + 1) * once}
    return {"held": 4 * part, "sent": 3 * parts * once}


# what: this answer believes that the norm of the whole gradient can be had only from the whole gradient, so every device gets all of the sum
def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    total = y.size

    def local(w, momentum, x, y):
        g = lax.psum(x.T @ (x @ w - y) * (2 / total), "data")
        norm = jnp.sqrt(jnp.sum(g * g))
        g = g * jnp.where(norm > limit, limit / norm, 1.0)
        rows = momentum.shape[0]
        start = lax.axis_index("data") * rows
        g = lax.dynamic_slice_in_dim(g, start, rows, axis=0)
        momentum = 0.9 * momentum + g
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


# what: this answer believes that each microbatch's gradient has to be summed over the devices before it may be added up
def summed_in_f32(loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:

    def local(w, x):
        low = w.astype(jnp.bfloat16)

        def add(total, rows):
            g = jax.grad(loss)(low, rows).astype(jnp.float32)
            return total + lax.psum(g, "data"), None

        total, _ = lax.scan(add, jnp.zeros(w.shape, jnp.float32), x)
        return total

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P(None, "data", None)),
        out_specs=P(None, None),
        check_vma=False,
    )(w, x)


# what: this answer believes that a loss over all devices' rows must be summed with psum before it is differentiated, and its gradient once more after
def keep_by_name(layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:
    policy = jax.checkpoint_policies.save_only_these_names("features")
    kept = jax.checkpoint(layer, policy=policy)

    def local(w, x):
        def loss(w):
            out, _ = lax.scan(lambda x, row: (kept(x, row), None), x, w)
            return lax.psum(jnp.sum(out**2), "data")

        return lax.psum(jax.grad(loss)(w), "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P("data", None)),
        out_specs=P(None, None),
        check_vma=False,
    )(w, x)
