"""ch17_step, solved."""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def state_like(
    optimizer: optax.GradientTransformation, params: dict, mesh: Mesh
) -> list:
    everywhere = NamedSharding(mesh, P())
    places = optax.tree_map_params(
        optimizer,
        lambda _, w: w.sharding,
        jax.eval_shape(optimizer.init, params),
        params,
        transform_non_params=lambda _: everywhere,
    )
    state = jax.jit(optimizer.init, out_shardings=places)(params)
    return jax.tree.leaves(state)


def zero_bytes(
    parameters: int, n: int, stage: str, parts: int
) -> Mapping[str, int]:
    size = 4 * parameters
    part = size // n
    moved = size - part  # by a reduce-scatter, or an all-gather, of size bytes
    if stage == "DP":
        return {"held": 3 * size, "sent": 2 * moved}
    if stage == "ZeRO-3":
        return {"held": 3 * part, "sent": parts * 3 * moved}
    sums = parts if stage == "ZeRO-2" else 1
    return {"held": size + 2 * part, "sent": (sums + 1) * moved}


def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    def device(w, momentum, x, y):
        mine = lax.pcast(w, "data", to="varying")  # no psum in grad
        g = jax.grad(lambda w: jnp.sum((x @ w - y) ** 2))(mine)
        g = lax.psum_scatter(g, "data", tiled=True) / (y.size * mesh.size)
        norm = jnp.sqrt(lax.psum(jnp.sum(g * g), "data"))
        momentum = 0.9 * momentum + g * jnp.minimum(1, limit / norm)
        change = 0.1 * momentum
        whole = {"tiled": True, "to": "invarying"}  # the same on all devices
        return lax.all_gather(change, "data", **whole), momentum

    cut = P("data")
    ins, outs = (P(), cut, cut, cut), (P(), cut)
    specs = {"in_specs": ins, "out_specs": outs}
    change, momentum = jax.shard_map(device, mesh=mesh, **specs)(
        w, momentum, x, y
    )
    return w - change, momentum


def summed_in_f32(
    loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    def device(w, x):
        mine = lax.pcast(w, "data", to="varying").astype(jnp.bfloat16)

        def add(total, rows):
            g = jax.grad(loss)(mine, rows)
            return total + g.astype(jnp.float32), None

        zeros = lax.pcast(jnp.zeros(w.shape), "data", to="varying")
        total, _ = lax.scan(add, zeros, x)
        return lax.psum(total, "data")

    specs = {"in_specs": (P(), P(None, "data")), "out_specs": P()}
    return jax.shard_map(device, mesh=mesh, **specs)(w, x)


def keep_by_name(
    layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    named = jax.checkpoint_policies.save_only_these_names("features")
    kept = jax.checkpoint(layer, policy=named)

    def device(w, x):
        def loss(w):
            after, _ = lax.scan(lambda x, w: (kept(x, w), None), x, w)
            return jnp.sum(after**2)

        mine = lax.pcast(w, "data", to="varying")
        return lax.psum(jax.grad(loss)(mine), "data")

    specs = {"in_specs": (P(), P("data")), "out_specs": P()}
    return jax.shard_map(device, mesh=mesh, **specs)(w, x)
