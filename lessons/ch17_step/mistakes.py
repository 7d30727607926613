"""Known wrong answers of ch17_step, as code; words.toml explains them."""

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _state(optimizer, params, places):
    state = jax.jit(optimizer.init, out_shardings=places)(params)
    return jax.tree.leaves(state)


def _places(optimizer, params, mesh, of_parameter):
    return optax.tree_map_params(
        optimizer,
        of_parameter,
        jax.eval_shape(optimizer.init, params),
        params,
        transform_non_params=lambda _: NamedSharding(mesh, P()),
    )


def state_like__left_to_jit(optimizer, params, mesh):
    return jax.tree.leaves(jax.jit(optimizer.init)(params))


def state_like__without_jit(optimizer, params, mesh):
    return jax.tree.leaves(optimizer.init(params))


def state_like__by_shape(optimizer, params, mesh):
    known = {}
    for w in params.values():
        known.setdefault(w.shape, w.sharding)

    def of(x):
        return known.get(x.shape, NamedSharding(mesh, P()))

    shapes = jax.eval_shape(optimizer.init, params)
    return _state(optimizer, params, jax.tree.map(of, shapes))


def state_like__last_of_its_shape(optimizer, params, mesh):
    known = {w.shape: w.sharding for w in params.values()}

    def of(x):
        return known.get(x.shape, NamedSharding(mesh, P()))

    shapes = jax.eval_shape(optimizer.init, params)
    return _state(optimizer, params, jax.tree.map(of, shapes))


def state_like__all_cut(optimizer, params, mesh):
    def of(x, _):
        cut = x.ndim and x.shape[0] % mesh.size == 0
        return NamedSharding(mesh, P("data") if cut else P())

    return _state(optimizer, params, _places(optimizer, params, mesh, of))


def state_like__counts_left_out(optimizer, params, mesh):
    def of(_, w):
        return w.sharding

    places = _places(optimizer, params, mesh, of)
    state = jax.jit(optimizer.init, out_shardings=places)(params)
    return [x for x in jax.tree.leaves(state) if x.ndim]


def _held(parameters, n, stage):
    size = 4 * parameters
    held = {"DP": 3 * size, "ZeRO-3": 3 * size // n}
    return held.get(stage, size + 2 * size // n)


def _sent(parameters, n, stage, parts):
    moved = 4 * parameters * (n - 1) // n
    times = {"DP": 2, "ZeRO-1": 2, "ZeRO-2": parts + 1}
    return moved * times.get(stage, 3 * parts)


def zero_bytes__all_reduced(parameters, n, stage, parts):
    moved = 4 * parameters * (n - 1) // n
    times = {"DP": 2, "ZeRO-1": 3, "ZeRO-2": 2 * parts + 1}
    sent = moved * times.get(stage, 4 * parts)
    return {"held": _held(parameters, n, stage), "sent": sent}


def zero_bytes__once_a_step(parameters, n, stage, parts):
    sent = _sent(parameters, n, stage, 1)
    return {"held": _held(parameters, n, stage), "sent": sent}


def zero_bytes__sums_in_every_part(parameters, n, stage, parts):
    moved = 4 * parameters * (n - 1) // n
    times = {"DP": 2 * parts, "ZeRO-3": 3 * parts}
    sent = moved * times.get(stage, parts + 1)
    return {"held": _held(parameters, n, stage), "sent": sent}


def zero_bytes__gathered_once(parameters, n, stage, parts):
    sent = _sent(parameters, n, stage, parts)
    if stage == "ZeRO-3":
        sent = sent // 3 * 2
    return {"held": _held(parameters, n, stage), "sent": sent}


def zero_bytes__one_average(parameters, n, stage, parts):
    size = 4 * parameters
    held = {"DP": 2 * size, "ZeRO-3": 2 * size // n}
    return {
        "held": held.get(stage, size + size // n),
        "sent": _sent(parameters, n, stage, parts),
    }


def zero_bytes__all_of_it_travels(parameters, n, stage, parts):
    sent = _sent(parameters, n, stage, parts) * n // (n - 1)
    return {"held": _held(parameters, n, stage), "sent": sent}


def zero_bytes__nothing_regathered(parameters, n, stage, parts):
    moved = 4 * parameters * (n - 1) // n
    sent = _sent(parameters, n, stage, parts)
    if stage in ("ZeRO-1", "ZeRO-2"):
        sent -= moved
    return {"held": _held(parameters, n, stage), "sent": sent}


def _zero_one(w, momentum, x, y, mesh, device):
    cut = P("data")
    ins, outs = (P(), cut, cut, cut), (P(), cut)
    specs = {"in_specs": ins, "out_specs": outs, "check_vma": False}
    return jax.shard_map(device, mesh=mesh, **specs)(w, momentum, x, y)


def _own(w, x, y, mesh):
    g = jax.grad(lambda w: jnp.sum((x @ w - y) ** 2))(w)
    return g / (y.size * mesh.size)


def _scatter(g):
    return lax.psum_scatter(g, "data", tiled=True)


def _norm(g):
    return jnp.sqrt(lax.psum(jnp.sum(g * g), "data"))


def _moved(w, momentum, g, scale):
    momentum = 0.9 * momentum + g * scale
    change = lax.all_gather(momentum, "data", tiled=True)
    return w - 0.1 * change, momentum


def zero_one__norm_of_own_part(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = _scatter(_own(w, x, y, mesh))
        norm = jnp.sqrt(jnp.sum(g * g))
        return _moved(w, momentum, g, jnp.minimum(1, limit / norm))

    return _zero_one(w, momentum, x, y, mesh, device)


def zero_one__norm_before_the_sum(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = _own(w, x, y, mesh)
        norm = _norm(g)
        scale = jnp.minimum(1, limit / norm)
        return _moved(w, momentum, _scatter(g), scale)

    return _zero_one(w, momentum, x, y, mesh, device)


def zero_one__norm_without_root(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = _scatter(_own(w, x, y, mesh))
        return _moved(w, momentum, g, jnp.minimum(1, limit / _norm(g) ** 2))

    return _zero_one(w, momentum, x, y, mesh, device)


def zero_one__old_momentum(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = _scatter(_own(w, x, y, mesh))
        change = lax.all_gather(momentum, "data", tiled=True)
        momentum = 0.9 * momentum + g * jnp.minimum(1, limit / _norm(g))
        return w - 0.1 * change, momentum

    return _zero_one(w, momentum, x, y, mesh, device)


def zero_one__norms_added(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = _scatter(_own(w, x, y, mesh))
        norm = lax.psum(jnp.sqrt(jnp.sum(g * g)), "data")
        return _moved(w, momentum, g, jnp.minimum(1, limit / norm))

    return _zero_one(w, momentum, x, y, mesh, device)


def zero_one__always_scaled(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = _scatter(_own(w, x, y, mesh))
        return _moved(w, momentum, g, limit / _norm(g))

    return _zero_one(w, momentum, x, y, mesh, device)


def zero_one__not_averaged(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = _scatter(_own(w, x, y, mesh)) * mesh.size
        return _moved(w, momentum, g, jnp.minimum(1, limit / _norm(g)))

    return _zero_one(w, momentum, x, y, mesh, device)


def zero_one__all_reduced(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = lax.psum(_own(w, x, y, mesh), "data")
        norm = jnp.sqrt(jnp.sum(g * g))
        mine = len(momentum) * lax.axis_index("data")
        g = lax.dynamic_slice_in_dim(g, mine, len(momentum))
        return _moved(w, momentum, g, jnp.minimum(1, limit / norm))

    return _zero_one(w, momentum, x, y, mesh, device)


def zero_one__not_clipped(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        return _moved(w, momentum, _scatter(_own(w, x, y, mesh)), 1)

    return _zero_one(w, momentum, x, y, mesh, device)


def zero_one__clipped_with_momentum(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        momentum = 0.9 * momentum + _scatter(_own(w, x, y, mesh))
        momentum = momentum * jnp.minimum(1, limit / _norm(momentum))
        change = lax.all_gather(momentum, "data", tiled=True)
        return w - 0.1 * change, momentum

    return _zero_one(w, momentum, x, y, mesh, device)


def _summed(w, x, mesh, device):
    specs = {"in_specs": (P(), P(None, "data")), "out_specs": P()}
    mapped = jax.shard_map(device, mesh=mesh, check_vma=False, **specs)
    return mapped(w, x)


def _parts(loss, w, x, to=jnp.float32):
    """The gradients of the microbatches, to[micro, d, k]."""
    return lax.map(lambda rows: jax.grad(loss)(w, rows).astype(to), x)


def _added(parts):
    total, _ = lax.scan(
        lambda total, g: (total + g, None), jnp.zeros_like(parts[0]), parts
    )
    return total


def summed_in_f32__added_in_bf16(loss, w, x, mesh):
    def device(w, x):
        parts = _parts(loss, w.astype(jnp.bfloat16), x, jnp.bfloat16)
        return lax.psum(_added(parts).astype(jnp.float32), "data")

    return _summed(w, x, mesh, device)


def summed_in_f32__computed_in_f32(loss, w, x, mesh):
    def device(w, x):
        parts = _parts(loss, w, x.astype(jnp.float32))
        return lax.psum(_added(parts), "data")

    return _summed(w, x, mesh, device)


def summed_in_f32__widened(loss, w, x, mesh):
    def device(w, x):
        low = w.astype(jnp.bfloat16).astype(jnp.float32)
        return lax.psum(_added(_parts(loss, low, x.astype(w.dtype))), "data")

    return _summed(w, x, mesh, device)


def summed_in_f32__own_rows_alone(loss, w, x, mesh):
    def device(w, x):
        return _added(_parts(loss, w.astype(jnp.bfloat16), x))

    return _summed(w, x, mesh, device)


def summed_in_f32__averaged(loss, w, x, mesh):
    def device(w, x):
        total = _added(_parts(loss, w.astype(jnp.bfloat16), x))
        return lax.pmean(total, "data")

    return _summed(w, x, mesh, device)


def summed_in_f32__rounded_at_the_end(loss, w, x, mesh):
    def device(w, x):
        total = _added(_parts(loss, w.astype(jnp.bfloat16), x))
        total = lax.psum(total, "data").astype(jnp.bfloat16)
        return total.astype(jnp.float32)

    return _summed(w, x, mesh, device)


def summed_in_f32__summed_every_time(loss, w, x, mesh):
    def device(w, x):
        def add(total, rows):
            g = jax.grad(loss)(w.astype(jnp.bfloat16), rows)
            return total + lax.psum(g.astype(jnp.float32), "data"), None

        return lax.scan(add, jnp.zeros(w.shape), x)[0]

    return _summed(w, x, mesh, device)


def _through(w, x, mesh, after, check=True, total=None):
    def device(w, x):
        def loss(w):
            return jnp.sum(after(w, x) ** 2)

        mine = lax.pcast(w, "data", to="varying") if check else w
        return (total or (lambda g: lax.psum(g, "data")))(jax.grad(loss)(mine))

    specs = {"in_specs": (P(), P("data")), "out_specs": P()}
    mapped = jax.shard_map(device, mesh=mesh, check_vma=check, **specs)
    return mapped(w, x)


def _scanned(layer):
    def after(w, x):
        return lax.scan(lambda x, w: (layer(x, w), None), x, w)[0]

    return after


def _named():
    return jax.checkpoint_policies.save_only_these_names("features")


def keep_by_name__everything_kept(layer, w, x, mesh):
    return _through(w, x, mesh, _scanned(layer))


def keep_by_name__features_again(layer, w, x, mesh):
    return _through(w, x, mesh, _scanned(jax.checkpoint(layer)))


def keep_by_name__own_rows_alone(layer, w, x, mesh):
    kept = _scanned(jax.checkpoint(layer, policy=_named()))
    return _through(w, x, mesh, kept, False, lambda g: g)


def keep_by_name__averaged(layer, w, x, mesh):
    kept = _scanned(jax.checkpoint(layer, policy=_named()))
    return _through(w, x, mesh, kept, total=lambda g: lax.pmean(g, "data"))
