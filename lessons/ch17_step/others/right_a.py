"""Right, written another way: by prefix, on Explicit axes, with check_vma off."""

import jax
import jax.numpy as jnp
import optax
from jax import P, lax
from jax.sharding import NamedSharding


def state_like(optimizer, params, mesh):
    specs = {name: w.sharding for name, w in params.items()}

    def place(x):
        if isinstance(x, dict) and x.keys() == params.keys():
            return specs
        return NamedSharding(mesh, P())

    state = jax.eval_shape(optimizer.init, params)
    places = jax.tree.map(place, state, is_leaf=lambda x: isinstance(x, dict))
    return jax.tree.leaves(jax.device_put(optimizer.init(params), places))


def zero_bytes(parameters, n, stage, parts):
    a_part = 4 * parameters // n
    held = {"w": a_part * n, "mv": 2 * a_part * n}
    if stage != "DP":
        held["mv"] = 2 * a_part
    if stage == "ZeRO-3":
        held["w"] = a_part
    rings = {
        "DP": 2,
        "ZeRO-1": 1 + 1,
        "ZeRO-2": parts + 1,
        "ZeRO-3": parts * (2 + 1),
    }[stage]
    return {"held": sum(held.values()), "sent": rings * (n - 1) * a_part}


def zero_one(w, momentum, x, y, limit, mesh):
    def scattered(w, x, y):
        g = 2 * x.T @ (x @ w - y)
        return lax.psum_scatter(g, "data", tiled=True)

    cut = P("data")
    mapped = jax.shard_map(
        scattered, mesh=mesh, in_specs=(P(), cut, cut), out_specs=cut
    )
    g = mapped(w, x, y) / y.size
    clip = optax.clip_by_global_norm(limit)
    g, _ = clip.update(g, clip.init(g))
    momentum = 0.9 * momentum + g
    return w - jax.reshard(0.1 * momentum, NamedSharding(mesh, P())), momentum


def summed_in_f32(loss, w, x, mesh):
    total = jax.reshard(
        jnp.zeros(w.shape), NamedSharding(mesh, P(unreduced={"data"}))
    )
    low = jax.reshard(
        w.astype(jnp.bfloat16), NamedSharding(mesh, P(reduced={"data"}))
    )

    def add(total, rows):
        return total + jax.grad(loss)(low, rows).astype(jnp.float32), None

    total, _ = lax.scan(add, total, x)
    return jax.reshard(total, NamedSharding(mesh, P()))


def keep_by_name(layer, w, x, mesh):
    named = jax.checkpoint_policies.save_only_these_names("features")
    kept = jax.checkpoint(layer, policy=named)

    def own(w, x):
        def after(w):
            return lax.scan(lambda x, w: (kept(x, w), None), x, w)[0]

        out, pull = jax.vjp(after, w)
        return lax.psum(pull(2 * out)[0], "data")

    specs = {"in_specs": (P(), P("data")), "out_specs": P()}
    return jax.shard_map(own, mesh=mesh, check_vma=False, **specs)(w, x)
