from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# style: Optax says itself which leaves belong to parameters (tree_map_params)
def state_like(optimizer: optax.GradientTransformation, params: dict, mesh: Mesh) -> list:
    everywhere = NamedSharding(mesh, P())
    placed = optax.tree_utils.tree_map_params(
        optimizer,
        lambda leaf, param: jax.device_put(leaf, param.sharding),
        optimizer.init(params),
        params,
        transform_non_params=lambda leaf: jax.device_put(leaf, everywhere),
    )
    return jax.tree.leaves(placed)


# style: one branch per stage, counting ring passes of the whole array
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
    if stage == "ZeRO-3":
        return {"held": 3 * part, "sent": 3 * parts * once}
    raise ValueError(stage)


# style: all by hand in one shard_map, gradient written out, new w gathered
def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    n = mesh.size

    def local(w, momentum, x, y):
        error = x @ w - y
        g = x.T @ error * (2 / (n * error.size))
        g = lax.psum_scatter(g, "data", scatter_dimension=0, tiled=True)
        norm = jnp.sqrt(lax.psum(jnp.sum(g * g), "data"))
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


# style: a scan with an f32 carry, one psum at the end
def summed_in_f32(loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:

    def local(w, x):
        low = w.astype(jnp.bfloat16)

        def add(total, rows):
            g = jax.grad(loss)(low, rows)
            return total + g.astype(jnp.float32), None

        total, _ = lax.scan(add, jnp.zeros(w.shape, jnp.float32), x)
        return lax.psum(total, "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P(None, "data", None)),
        out_specs=P(None, None),
        check_vma=False,
    )(w, x)


# style: a scan over checkpointed layers, jax.grad of the local loss, one psum
def keep_by_name(layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:
    policy = jax.checkpoint_policies.save_only_these_names("features")
    kept = jax.checkpoint(layer, policy=policy)

    def local(w, x):
        def loss(w):
            out, _ = lax.scan(lambda x, row: (kept(x, row), None), x, w)
            return jnp.sum(out**2)

        return lax.psum(jax.grad(loss)(w), "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P("data", None)),
        out_specs=P(None, None),
        check_vma=False,
    )(w, x)
