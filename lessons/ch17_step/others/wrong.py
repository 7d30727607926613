"""The known mistakes once more, spelled differently."""

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def state_like__left_to_jit(optimizer, params, mesh):
    make = jax.jit(lambda p: optimizer.init(p))
    return list(jax.tree.leaves(make(params)))


def state_like__without_jit(optimizer, params, mesh):
    return [x + 0 for x in jax.tree.leaves(optimizer.init(params))]


def state_like__by_shape(optimizer, params, mesh):
    leaves = []
    for x in jax.tree.leaves(optimizer.init(params)):
        same = [w for w in params.values() if w.shape == x.shape]
        spec = same[0].sharding.spec if same else P()
        leaves.append(jax.device_put(x, NamedSharding(mesh, spec)))
    return leaves


def state_like__last_of_its_shape(optimizer, params, mesh):
    leaves = []
    for x in jax.tree.leaves(optimizer.init(params)):
        same = [w for w in params.values() if w.shape == x.shape]
        where = same[-1].sharding if same else NamedSharding(mesh, P())
        leaves.append(jax.device_put(x, where))
    return leaves


def state_like__all_cut(optimizer, params, mesh):
    leaves = []
    for x in jax.tree.leaves(optimizer.init(params)):
        try:
            leaves.append(jax.device_put(x, NamedSharding(mesh, P("data"))))
        except ValueError:
            leaves.append(jax.device_put(x, NamedSharding(mesh, P())))
    return leaves


def state_like__counts_left_out(optimizer, params, mesh):
    return [x for x in jax.tree.leaves(optimizer.init(params)) if x.shape]


def _run(device, w, momentum, x, y, mesh):
    cut = P("data")
    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P(), cut, cut, cut),
        out_specs=(P(), cut),
        check_vma=False,
    )(w, momentum, x, y)


def _by_hand(w, x, y, n):
    return 2 * x.T @ (x @ w - y) / (y.size * n)


def _end(w, momentum, g):
    momentum = 0.9 * momentum + g
    new = w - 0.1 * lax.all_gather(momentum, "data", tiled=True)
    return new, momentum


def zero_one__norm_of_own_part(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = lax.psum_scatter(_by_hand(w, x, y, mesh.size), "data", tiled=True)
        clip = optax.clip_by_global_norm(limit)
        return _end(w, momentum, clip.update(g, clip.init(g))[0])

    return _run(device, w, momentum, x, y, mesh)


def zero_one__norm_before_the_sum(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = _by_hand(w, x, y, mesh.size)
        square = lax.psum(jnp.vdot(g, g), "data")
        g = jnp.where(square > limit**2, g * limit / jnp.sqrt(square), g)
        return _end(w, momentum, lax.psum_scatter(g, "data", tiled=True))

    return _run(device, w, momentum, x, y, mesh)


def zero_one__norms_added(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = lax.psum_scatter(_by_hand(w, x, y, mesh.size), "data", tiled=True)
        norm = lax.psum(jnp.linalg.norm(g), "data")
        return _end(w, momentum, g / jnp.maximum(1, norm / limit))

    return _run(device, w, momentum, x, y, mesh)


def zero_one__always_scaled(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = lax.psum_scatter(_by_hand(w, x, y, mesh.size), "data", tiled=True)
        return _end(
            w, momentum, g * limit * lax.rsqrt(lax.psum(jnp.vdot(g, g), "data"))
        )

    return _run(device, w, momentum, x, y, mesh)


def zero_one__not_averaged(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
        g = lax.psum_scatter(g, "data", tiled=True)
        norm = jnp.sqrt(lax.psum(jnp.vdot(g, g), "data"))
        return _end(w, momentum, jnp.where(norm > limit, g * limit / norm, g))

    return _run(device, w, momentum, x, y, mesh)


def zero_one__all_reduced(w, momentum, x, y, limit, mesh):
    g = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    norm = jnp.sqrt(jnp.sum(g**2))
    g = jax.reshard(
        g * jnp.minimum(1, limit / norm), NamedSharding(mesh, P("data"))
    )
    momentum = 0.9 * momentum + g
    return w - jax.reshard(0.1 * momentum, NamedSharding(mesh, P())), momentum


def zero_one__not_clipped(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = _by_hand(w, x, y, mesh.size)
        return _end(w, momentum, lax.psum_scatter(g, "data", tiled=True))

    return _run(device, w, momentum, x, y, mesh)


def zero_one__clipped_with_momentum(w, momentum, x, y, limit, mesh):
    def device(w, momentum, x, y):
        g = lax.psum_scatter(_by_hand(w, x, y, mesh.size), "data", tiled=True)
        m = 0.9 * momentum + g
        norm = jnp.sqrt(lax.psum(jnp.vdot(m, m), "data"))
        m = m / jnp.maximum(1, norm / limit)
        return w - 0.1 * lax.all_gather(m, "data", tiled=True), m

    return _run(device, w, momentum, x, y, mesh)


def _low(w, mesh, dtype=jnp.bfloat16):
    return jax.reshard(
        w.astype(dtype), NamedSharding(mesh, P(reduced={"data"}))
    )


def _zeros(w, mesh, dtype):
    own = NamedSharding(mesh, P(unreduced={"data"}))
    return jax.reshard(jnp.zeros(w.shape, dtype), own)


def _scan(loss, low, x, zeros):
    def add(total, rows):
        return total + jax.grad(loss)(low, rows).astype(total.dtype), None

    return lax.scan(add, zeros, x)[0]


def summed_in_f32__added_in_bf16(loss, w, x, mesh):
    total = _scan(loss, _low(w, mesh), x, _zeros(w, mesh, jnp.bfloat16))
    total = total.astype(jnp.float32)
    return jax.reshard(total, NamedSharding(mesh, P()))


def summed_in_f32__computed_in_f32(loss, w, x, mesh):
    low = _low(w, mesh, jnp.float32)
    zeros = _zeros(w, mesh, jnp.float32)
    total = _scan(loss, low, x.astype(jnp.float32), zeros)
    return jax.reshard(total, NamedSharding(mesh, P()))


def summed_in_f32__widened(loss, w, x, mesh):
    low = _low(w, mesh).astype(jnp.float32)
    zeros = _zeros(w, mesh, jnp.float32)
    total = _scan(loss, low, x.astype(jnp.float32), zeros)
    return jax.reshard(total, NamedSharding(mesh, P()))


def _on_each(device, w, x, mesh):
    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P(), P(None, "data")),
        out_specs=P(),
        check_vma=False,
    )(w, x)


def summed_in_f32__own_rows_alone(loss, w, x, mesh):
    def device(w, x):
        zeros = jnp.zeros(w.shape)
        return _scan(loss, w.astype(jnp.bfloat16), x, zeros)

    return _on_each(device, w, x, mesh)


def summed_in_f32__averaged(loss, w, x, mesh):
    total = _scan(loss, _low(w, mesh), x, _zeros(w, mesh, jnp.float32))
    return jax.reshard(total, NamedSharding(mesh, P())) / mesh.size


def summed_in_f32__rounded_at_the_end(loss, w, x, mesh):
    total = _scan(loss, _low(w, mesh), x, _zeros(w, mesh, jnp.float32))
    total = jax.reshard(total, NamedSharding(mesh, P()))
    return lax.reduce_precision(total, 8, 7)


def summed_in_f32__summed_every_time(loss, w, x, mesh):
    low = _low(w, mesh)

    def add(total, rows):
        g = jax.grad(loss)(low, rows).astype(jnp.float32)
        return total + jax.reshard(g, NamedSharding(mesh, P())), None

    return lax.scan(add, jnp.zeros(w.shape), x)[0]


def _through(after, w, x, mesh, ask):
    def device(w, x):
        out, pull = jax.vjp(lambda w: after(w, x), w)
        return ask(pull(2 * out)[0])

    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P(), P("data")),
        out_specs=P(),
        check_vma=False,
    )(w, x)


def _scanned(layer):
    return lambda w, x: lax.scan(lambda x, w: (layer(x, w), None), x, w)[0]


def _named(f):
    names = jax.checkpoint_policies.save_only_these_names
    return jax.checkpoint(f, policy=names("features"))


def keep_by_name__everything_kept(layer, w, x, mesh):
    around_the_scan = _named(_scanned(layer))
    return _through(around_the_scan, w, x, mesh, lambda g: lax.psum(g, "data"))


def keep_by_name__features_again(layer, w, x, mesh):
    other = jax.checkpoint_policies.save_only_these_names("feature")
    again = _scanned(jax.checkpoint(layer, policy=other))
    return _through(again, w, x, mesh, lambda g: lax.psum(g, "data"))


def keep_by_name__own_rows_alone(layer, w, x, mesh):
    return _through(_scanned(_named(layer)), w, x, mesh, lambda g: g)


def keep_by_name__averaged(layer, w, x, mesh):
    after = _scanned(_named(layer))
    return _through(after, w, x, mesh, lambda g: lax.pmean(g, "data"))
