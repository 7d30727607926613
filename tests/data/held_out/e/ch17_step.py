from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: under jit the layout of the parameters spreads to the state that is made from them, so nothing need be said about its layout.
def state_like(
    optimizer: optax.GradientTransformation, params: dict, mesh: Mesh
) -> list:
    state = jax.jit(optimizer.init)(params)
    return jax.tree.leaves(state)


# what: ZeRO-2 sends exactly what data parallelism sends, however many microbatches there are.
def zero_bytes(
    parameters: int, n: int, stage: str, parts: int
) -> Mapping[str, int]:
    size = 4 * parameters
    once = size * (n - 1) // n
    if stage == "DP":
        return {"held": 3 * size, "sent": 2 * once}
    if stage == "ZeRO-1":
        return {"held": size + 2 * size // n, "sent": 2 * once}
    if stage == "ZeRO-2":
        return {"held": size + 2 * size // n, "sent": 2 * once}
    return {"held": 3 * size // n, "sent": 3 * parts * once}


# what: the norm of the whole gradient comes out if the squares of each device's own gradient, before the sum, are added up over the devices.
def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    total = y.shape[0] * y.shape[1]
    n = mesh.shape["data"]

    def local(w, momentum, x, y):
        g = (2.0 / total) * (x.T @ (x @ w - y))
        norm = jnp.sqrt(lax.psum(jnp.sum(g * g), "data"))
        piece = lax.psum_scatter(g, "data", scatter_dimension=0, tiled=True)
        piece = piece * jnp.where(norm > limit, limit / norm, 1.0)
        momentum = 0.9 * momentum + piece
        rows = w.shape[0] // n
        mine = lax.dynamic_slice_in_dim(w, lax.axis_index("data") * rows, rows)
        mine = mine - 0.1 * momentum
        return lax.all_gather(mine, "data", tiled=True), momentum

    cut = P("data")
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), cut, cut, cut),
        out_specs=(P(), cut),
        check_vma=False,
    )(w, momentum, x, y)


# what: since the gradient is asked for by the f32 master, everything that is added up on the way to it is added in f32.
def summed_in_f32(
    loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    def local(w, x):
        def total(master):
            rounded = master.astype(jnp.bfloat16)

            def one(so_far, part):
                return so_far + loss(rounded, part).astype(jnp.float32), None

            return lax.scan(one, jnp.float32(0), x)[0]

        return lax.psum(jax.grad(total)(w), "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P(None, "data")),
        out_specs=P(),
        check_vma=False,
    )(w, x)


# what: without types, too, the gradient passes through a psum of the loss unchanged, so summing the loss over the devices before differentiating does no harm.
def keep_by_name(
    layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    keep = jax.checkpoint_policies.save_only_these_names("features")

    def local(w, x):
        kept = jax.checkpoint(layer, policy=keep, prevent_cse=False)

        def loss(w):
            last, _ = lax.scan(lambda a, wi: (kept(a, wi), None), x, w)
            return lax.psum(jnp.sum(last**2), "data")

        return lax.psum(jax.grad(loss)(w), "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P("data")),
        out_specs=P(),
        check_vma=False,
    )(w, x)
