"""Wrong answers of ch17_step that its mistakes.py does not know."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def state_like__on_the_host(optimizer, params, mesh):
    return [np.asarray(x) for x in jax.tree.leaves(optimizer.init(params))]


def state_like__of_whole_copies(optimizer, params, mesh):
    whole = jax.device_put(params, NamedSharding(mesh, P()))
    return jax.tree.leaves(jax.jit(optimizer.init)(whole))[::-1]


def zero_bytes__in_bf16(parameters, n, stage, parts):
    moved = 2 * parameters * (n - 1) // n
    times = {"DP": 2, "ZeRO-1": 2, "ZeRO-2": parts + 1, "ZeRO-3": 3 * parts}
    held = {"DP": 6 * parameters, "ZeRO-3": 6 * parameters // n}
    both = 2 * parameters + 4 * parameters // n
    return {"held": held.get(stage, both), "sent": moved * times[stage]}


def zero_bytes__in_numbers(parameters, n, stage, parts):
    times = {"DP": 2, "ZeRO-1": 2, "ZeRO-2": parts + 1, "ZeRO-3": 3 * parts}
    held = {"DP": 3 * parameters, "ZeRO-3": 3 * parameters // n}
    both = parameters + 2 * parameters // n
    sent = times[stage] * parameters * (n - 1) // n
    return {"held": held.get(stage, both), "sent": sent}


def zero_bytes__gradients_held_too(parameters, n, stage, parts):
    size = 4 * parameters
    times = {"DP": 2, "ZeRO-1": 2, "ZeRO-2": parts + 1, "ZeRO-3": 3 * parts}
    held = {
        "DP": 4 * size,
        "ZeRO-1": 2 * size + 2 * size // n,
        "ZeRO-2": size + 3 * size // n,
        "ZeRO-3": 4 * size // n,
    }
    return {"held": held[stage], "sent": times[stage] * size * (n - 1) // n}


def _run(device, w, momentum, x, y, mesh):
    cut = P("data")
    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P(), cut, cut, cut),
        out_specs=(P(), cut),
        check_vma=False,
    )(w, momentum, x, y)


def _scattered(w, x, y, n):
    g = 2 * x.T @ (x @ w - y) / (y.size * n)
    return lax.psum_scatter(g, "data", tiled=True)


def zero_one__old_momentum(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = _scattered(w, x, y, mesh.size)
        norm = jnp.sqrt(lax.psum(jnp.vdot(g, g), "data"))
        new = 0.9 * momentum + g * jnp.minimum(1, limit / norm)
        return w - 0.1 * lax.all_gather(momentum, "data", tiled=True), new

    return _run(device, w, momentum, x, y, mesh)


def zero_one__clipped_by_element(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = jnp.clip(_scattered(w, x, y, mesh.size), -limit, limit)
        momentum = 0.9 * momentum + g
        return w - 0.1 * lax.all_gather(momentum, "data", tiled=True), momentum

    return _run(device, w, momentum, x, y, mesh)


def summed_in_f32__only_the_first(loss, w, x, mesh):
    low = w.astype(jnp.bfloat16)
    return jax.grad(loss)(low, x[0]).astype(jnp.float32)


def summed_in_f32__mean_of_parts(loss, w, x, mesh):
    def device(w, x):
        low = w.astype(jnp.bfloat16)
        g = lax.map(lambda r: jax.grad(loss)(low, r).astype(jnp.float32), x)
        return lax.psum(g.mean(0), "data")

    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P(), P(None, "data")),
        out_specs=P(),
        check_vma=False,
    )(w, x)


def summed_in_f32__downhill(loss, w, x, mesh):
    def device(w, x):
        low = w.astype(jnp.bfloat16)
        g = lax.map(lambda r: jax.grad(loss)(low, r).astype(jnp.float32), x)
        return lax.psum(-g.sum(0), "data")

    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P(), P(None, "data")),
        out_specs=P(),
        check_vma=False,
    )(w, x)
