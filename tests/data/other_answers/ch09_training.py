"""Other answers to the exercises of ch09_training: right ones, known mistakes, and other wrong ones."""

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import NamedSharding


def dropout_step__right_otherwise(loss, params, x, y, seed, rate, mesh):
    key = jax.random.key(seed)

    def mean_loss(p, x, y):
        def own(p, x, y):
            return loss(p, x, y, jax.random.fold_in(key, lax.axis_index("data")))[None]

        specs = P(), P("data"), P("data")
        return jnp.mean(jax.shard_map(own, mesh=mesh, in_specs=specs, out_specs=P("data"))(p, x, y))

    value, gradient = jax.value_and_grad(mean_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - rate * g, params, gradient), value


def _fits(w, n):
    return [i for i, size in enumerate(w.shape) if size % n == 0]


def _cut(params, mesh, names):
    places = {}
    for k, w in params.items():
        dims = _fits(w, mesh.size) if k in names else []
        places[k] = NamedSharding(mesh, P(*[None] * dims[0], "data") if dims else P())
    return places


def _by_size(params):
    return sorted(params, key=lambda k: -params[k].nbytes)


def _saved(w, n):
    return w.nbytes - w.nbytes // n if _fits(w, n) else 0


def shard_to_fit__smallest_that_is_enough(params, mesh, limit):
    held, names = sum(w.nbytes for w in params.values()), []
    for name in _by_size(params):
        if held <= limit:
            break
        enough = [k for k in params if k not in names and held - _saved(params[k], mesh.size) <= limit]
        chosen = min(enough, key=lambda k: params[k].nbytes) if enough else name
        names.append(chosen)
        held -= _saved(params[chosen], mesh.size)
    return jax.device_put(params, _cut(params, mesh, names))


def shard_to_fit__one_at_least(params, mesh, limit):
    held, names = sum(w.nbytes for w in params.values()), []
    for name in _by_size(params):
        names.append(name)
        held -= _saved(params[name], mesh.size)
        if held <= limit:
            break
    return jax.device_put(params, _cut(params, mesh, names))


def shard_to_fit__long_enough_for_all(params, mesh, limit):
    n, specs = mesh.size, dict.fromkeys(params, P())
    held = sum(w.nbytes for w in params.values())
    for name in _by_size(params):
        if held <= limit:
            break
        w = params[name]
        long = [i for i, size in enumerate(w.shape) if size >= n]
        if long:
            specs[name] = P(*[None] * long[0], "data")
            held -= w.nbytes - w.nbytes // n
    return jax.device_put(params, {k: NamedSharding(mesh, spec) for k, spec in specs.items()})


def gated_mlp__right(x, gate, up, down, bias, mesh):
    hidden = jax.nn.silu(x @ gate) * (x @ up)
    return x + jnp.einsum("rh,hd->rd", hidden, down, out_sharding=NamedSharding(mesh, P("data"))) + bias


def accumulated_gradient__right_otherwise(losses, params, x, y, real, mesh):
    def by_device(a):  # [parts, rows, …] to [parts, devices, rows of one, …], without moving anything
        shape = len(a), mesh.size, a.shape[1] // mesh.size, *a.shape[2:]
        return a.reshape(shape, out_sharding=NamedSharding(mesh, P(None, "data")))

    def copied(p):
        place = NamedSharding(mesh, P("data"))
        return lax.broadcast_in_dim(p, (mesh.size, *p.shape), range(1, p.ndim + 1), out_sharding=place)

    def weighted(p, x, y, m):
        return jnp.vdot(losses(p, x, y), m)

    copies, each = jax.tree.map(copied, params), jax.vmap(jax.grad(weighted))

    def add(total, batch):
        return jax.tree.map(jnp.add, total, each(copies, *batch)), None

    cut = tuple(map(by_device, (x, y, real)))
    total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, copies), cut)
    rows = real.sum()
    return jax.tree.map(lambda g: g.sum(0) / rows, total)


def through_stages__right(layer, weights, x, mesh):
    """Turn after turn written out, the results kept as they come."""
    n, parts = mesh.size, x.shape[0]

    def device(w, x):
        me, h, done = lax.axis_index("stage"), x[0], []
        for t in range(parts + n - 1):
            h = layer(w[0], jnp.where(me == 0, x[min(t, parts - 1)], h))
            if t >= n - 1:
                done.append(jnp.where(me == n - 1, h, jnp.zeros_like(h)))
            h = lax.ppermute(h, "stage", [(i, i + 1) for i in range(n - 1)])
        return lax.psum(jnp.stack(done), "stage")

    return jax.shard_map(device, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P())(weights, x)


def through_stages__whole_batch_in_a_turn(layer, weights, x, mesh):
    n, rows = len(weights), x.reshape(-1, x.shape[-1])

    def device(w, h):
        for i in range(n):
            h = layer(w[0], h)
            if i + 1 < n:
                h = lax.ppermute(h, "stage", [(j, j + 1) for j in range(n - 1)])
        last = lax.axis_index("stage") == n - 1
        return lax.psum(jnp.where(last, h, jnp.zeros_like(h)), "stage")

    return jax.shard_map(device, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P())(weights, rows).reshape(x.shape)
