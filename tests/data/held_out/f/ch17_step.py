from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P


# what: Thinks the compiler carries the layout of the parameters over to the state when `init` is compiled with jit.
def state_like(
    optimizer: optax.GradientTransformation, params: dict, mesh: Mesh
) -> list:
    state = jax.jit(optimizer.init)(params)
    everywhere = NamedSharding(mesh, P())

    def settle(leaf):
        if leaf.ndim == 0:
            return jax.device_put(leaf, everywhere)
        return leaf

    return [settle(leaf) for leaf in jax.tree.leaves(state)]


# what: Thinks the gradients are among what a device holds between two steps, as in the well-known table of ZeRO (whole in stage 1, cut from stage 2 on).
def zero_bytes(
    parameters: int, n: int, stage: str, parts: int
) -> Mapping[str, int]:
    whole = 4 * parameters
    cut = whole // n
    one_pass = whole // n * (n - 1)
    weights = cut if stage == "ZeRO-3" else whole
    gradients = cut if stage in ("ZeRO-2", "ZeRO-3") else whole
    averages = 2 * (whole if stage == "DP" else cut)
    passes = {
        "DP": 2,
        "ZeRO-1": 2,
        "ZeRO-2": parts + 1,
        "ZeRO-3": 3 * parts,
    }[stage]
    return {"held": weights + gradients + averages, "sent": passes * one_pass}


# what: Thinks the norm of the whole gradient is the sum of the norms of its parts.
def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    n = mesh.shape["data"]

    def step(w, momentum, x, y):
        elements = y.size * n
        local = x.T @ (x @ w - y) * (2.0 / elements)
        g = lax.psum_scatter(local, "data", scatter_dimension=0, tiled=True)
        norm = lax.psum(jnp.linalg.norm(g), "data")
        g = g * jnp.where(norm > limit, limit / norm, 1.0)
        momentum = 0.9 * momentum + g
        height = momentum.shape[0]
        begin = lax.axis_index("data") * height
        piece = lax.dynamic_slice_in_dim(w, begin, height, axis=0)
        piece = piece - 0.1 * momentum
        return lax.all_gather(piece, "data", axis=0, tiled=True), momentum

    cut = P("data")
    return jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(P(), cut, cut, cut),
        out_specs=(P(), cut),
        check_vma=False,
    )(w, momentum, x, y)


# what: Thinks that differentiating the f32 sum of all microbatches' losses adds the gradients up in f32, though with respect to bf16 weights they are added up in bf16.
def summed_in_f32(
    loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    def on_device(w, x):
        def total(rounded):
            def add(so_far, rows):
                return so_far + loss(rounded, rows).astype(jnp.float32), None

            return lax.scan(add, jnp.zeros((), jnp.float32), x)[0]

        g = jax.grad(total)(w.astype(jnp.bfloat16))
        return lax.psum(g.astype(jnp.float32), "data")

    run = jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=(P(), P(None, "data")),
        out_specs=P(),
        check_vma=False,
    )
    return run(w, x)


# what: Thinks jax.checkpoint keeps by itself what has a name, without a policy (everything, "features" too, is computed again).
def keep_by_name(
    layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    kept = jax.checkpoint(layer)

    def local_loss(w, x):
        def through(h, wi):
            return kept(h, wi), None

        h, _ = lax.scan(through, x, w)
        return jnp.sum(jnp.square(h))

    def gradient(w, x):
        return lax.psum(jax.grad(local_loss)(w, x), "data")

    return jax.shard_map(
        gradient,
        mesh=mesh,
        in_specs=(P(), P("data")),
        out_specs=P(),
        check_vma=False,
    )(w, x)
