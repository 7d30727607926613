from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: this answer believes that the leaves may come in any order: first those of the parameters, then the others
def state_like(optimizer: optax.GradientTransformation, params: dict, mesh: Mesh) -> list:
    everywhere = NamedSharding(mesh, P())
    mine, others = [], []
    leaves = jax.tree_util.tree_leaves_with_path(optimizer.init(params))
    for path, leaf in leaves:
        name = getattr(path[-1], "key", None) if path else None
        if name in params and leaf.shape == params[name].shape:
            mine.append(jax.device_put(leaf, params[name].sharding))
        else:
            others.append(jax.device_put(leaf, everywhere))
    return mine + others


# what: this answer believes that ZeRO-2, which sums in every part, also gathers the new weights in every part
def zero_bytes(parameters: int, n: int, stage: str, parts: int) -> Mapping[str, int]:
    whole = 4 * parameters
    part = whole // n
    once = part * (n - 1)
    if stage == "DP":
        return {"held": 3 * whole, "sent": 2 * once}
    if stage == "ZeRO-1":
        return {"held": whole + 2 * part, "sent": 2 * once}
    if stage == "ZeRO-2":
        return {"held": whole + 2 * part, "sent": 2 * parts * once}
    return {"held": 3 * part, "sent": 3 * parts * once}


# what: this answer believes that clipping limits the step that is taken, so it clips the new momentum and not the gradient
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
        g = lax.psum_scatter(g, "data", scatter_dimension=0, tiled=True)
        momentum = 0.9 * momentum + g
        norm = jnp.sqrt(lax.psum(jnp.sum(momentum * momentum), "data"))
        momentum = momentum * jnp.where(norm > limit, limit / norm, 1.0)
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


# what: this answer believes that only the sum over the devices needs f32, and adds up the microbatches in the gradients' own bf16
def summed_in_f32(loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:

    def local(w, x):
        low = w.astype(jnp.bfloat16)

        def add(total, rows):
            return total + jax.grad(loss)(low, rows), None

        total, _ = lax.scan(add, jnp.zeros_like(low), x)
        return lax.psum(total.astype(jnp.float32), "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P(None, "data", None)),
        out_specs=P(None, None),
        check_vma=False,
    )(w, x)


# what: this answer believes that a name marks what is to be computed again, and keeps everything else
def keep_by_name(layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:
    policy = jax.checkpoint_policies.save_anything_except_these_names("features")
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
