from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# style: out_shardings worked out from the abstract state by the name at the end of the path
def state_like(optimizer: optax.GradientTransformation, params: dict, mesh: Mesh) -> list:
    everywhere = NamedSharding(mesh, P())

    def layout(path, leaf):
        name = getattr(path[-1], "key", None) if path else None
        if name in params and params[name].shape == leaf.shape:
            return params[name].sharding
        return everywhere

    shapes = jax.eval_shape(optimizer.init, params)
    layouts = jax.tree_util.tree_map_with_path(layout, shapes)
    state = jax.jit(optimizer.init, out_shardings=layouts)(params)
    return jax.tree.leaves(state)


# style: small functions for the three collectives, tables by stage
def zero_bytes(parameters: int, n: int, stage: str, parts: int) -> Mapping[str, int]:
    size = 4 * parameters

    def gather(b):
        return b * (n - 1) // n

    def scatter(b):
        return b * (n - 1) // n

    def reduce(b):
        return scatter(b) + gather(b)

    held = {
        "DP": size + 2 * size,
        "ZeRO-1": size + 2 * size // n,
        "ZeRO-2": size + 2 * size // n,
        "ZeRO-3": size // n + 2 * size // n,
    }
    sent = {
        "DP": reduce(size),
        "ZeRO-1": scatter(size) + gather(size),
        "ZeRO-2": parts * scatter(size) + gather(size),
        "ZeRO-3": parts * (2 * gather(size) + scatter(size)),
    }
    return {"held": held[stage], "sent": sent[stage]}


# style: jax.grad of the local share of the loss; the new momentum is gathered, and w is updated whole
def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    total = y.size

    def step(w, momentum, x, y):
        g = jax.grad(lambda w: jnp.sum((x @ w - y) ** 2) / total)(w)
        g = lax.psum_scatter(g, "data", scatter_dimension=0, tiled=True)
        squares = lax.psum(jnp.vdot(g, g), "data")
        scale = jnp.minimum(1.0, limit * lax.rsqrt(squares))
        momentum = 0.9 * momentum + scale * g
        whole = lax.all_gather(momentum, "data", axis=0, tiled=True)
        return w - 0.1 * whole, momentum

    return jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(P(None, None), P("data", None), P("data", None), P("data", None)),
        out_specs=(P(None, None), P("data", None)),
        check_vma=False,
    )(w, momentum, x, y)


# style: one jax.grad with respect to the f32 master, rounded anew for each microbatch
def summed_in_f32(loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:

    def local(w, x):
        def total(w):
            losses = [loss(w.astype(jnp.bfloat16), rows) for rows in x]
            return sum(losses)

        return lax.psum(jax.grad(total)(w), "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P(None, "data", None)),
        out_specs=P(None, None),
        check_vma=False,
    )(w, x)


# style: unrolled `jax.vjp`; the statement asks for a scan
def keep_by_name(layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:
    raise NotImplementedError
