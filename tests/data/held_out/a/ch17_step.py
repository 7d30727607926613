from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: this answer believes that jit, given placed parameters, lays out the state's fresh arrays like them by itself
def state_like(optimizer: optax.GradientTransformation, params: dict, mesh: Mesh) -> list:
    state = jax.jit(optimizer.init)(params)
    return jax.tree.leaves(state)


# what: this answer believes that weights gathered in ZeRO-3 stay valid for all microbatches of a step, so they are gathered twice a step and not twice a part
def zero_bytes(parameters: int, n: int, stage: str, parts: int) -> Mapping[str, int]:
    whole = 4 * parameters
    part = whole // n
    once = part * (n - 1)
    if stage == "DP":
        return {"held": 3 * whole, "sent": 2 * once}
    if stage == "ZeRO-1":
        return {"held": whole + 2 * part, "sent": 2 * once}
    if stage == "ZeRO-2":
        return {"held": whole + 2 * part, "sent": (parts + 1) * once}
    return {"held": 3 * part, "sent": (2 + parts) * once}


# what: this answer believes that the squares of the devices' own gradients, before they are summed, add up to the square of the whole gradient's norm
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
        g = x.T @ (x @ w - y) * (2 / total)
        norm = jnp.sqrt(lax.psum(jnp.sum(g * g), "data"))
        g = g * jnp.where(norm > limit, limit / norm, 1.0)
        g = lax.psum_scatter(g, "data", scatter_dimension=0, tiled=True)
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


# what: this answer believes that a gradient with respect to the f32 master is added up in f32, though all microbatches share one rounded copy whose bf16 cotangent adds them up
def summed_in_f32(loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:

    def local(w, x):
        def total(w):
            low = w.astype(jnp.bfloat16)

            def add(so_far, rows):
                return so_far + loss(low, rows).astype(jnp.float32), None

            so_far, _ = lax.scan(add, jnp.float32(0), x)
            return so_far

        return lax.psum(jax.grad(total)(w), "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P(None, "data", None)),
        out_specs=P(None, None),
        check_vma=False,
    )(w, x)


# what: this answer believes that the policy must wrap the stack of layers once, so that the recomputed big arrays of all layers live at the same time
def keep_by_name(layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:
    policy = jax.checkpoint_policies.save_only_these_names("features")

    def stack(w, x):
        out, _ = lax.scan(lambda x, row: (layer(x, row), None), x, w)
        return out

    kept = jax.checkpoint(stack, policy=policy)

    def local(w, x):
        g = jax.grad(lambda w: jnp.sum(kept(w, x) ** 2))(w)
        return lax.psum(g, "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P("data", None)),
        out_specs=P(None, None),
        check_vma=False,
    )(w, x)
