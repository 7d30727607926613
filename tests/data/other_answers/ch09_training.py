"""Other answers to the exercises of ch09_training: right ones, known mistakes, and other wrong ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import NamedSharding


def dropout_step__right(loss, params, x, y, seed, rate, mesh):
    def step(params, x, y):
        me = lax.axis_index("data")
        key = jax.random.fold_in(jax.random.key(seed), me)
        value, gradient = jax.value_and_grad(loss)(params, x, y, key)
        value, gradient = lax.pmean((value, gradient), "data")
        return {k: params[k] - rate * gradient[k] for k in params}, value

    specs = {
        "in_specs": (P(), P("data"), P("data")),
        "out_specs": (P(), P()),
        "check_vma": False,
    }
    return jax.shard_map(step, mesh=mesh, **specs)(params, x, y)


def dropout_step__right_otherwise(loss, params, x, y, seed, rate, mesh):
    key = jax.random.key(seed)

    def mean_loss(p, x, y):
        def own(p, x, y):
            return loss(p, x, y, jax.random.fold_in(key, lax.axis_index("data")))[None]

        specs = {
            "in_specs": (P(), P("data"), P("data")),
            "out_specs": P("data"),
        }
        return jnp.mean(jax.shard_map(own, mesh=mesh, **specs)(p, x, y))

    value, gradient = jax.value_and_grad(mean_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - rate * g, params, gradient), value


def _down(params, gradient, rate):
    return {k: p - rate * gradient[k] for k, p in params.items()}


def _folded(seed):
    return lambda i: jax.random.fold_in(jax.random.key(seed), i)


def dropout_step__own_loss(loss, params, x, y, seed, rate, mesh):
    def own(params, x, y):
        value, gradient = jax.value_and_grad(loss)(params, x, y, _folded(seed)(lax.axis_index("data")))
        gradient = {k: lax.psum(g, "data") / mesh.size for k, g in gradient.items()}
        return _down(params, gradient, rate), value

    specs = {
        "in_specs": (P(), P("data"), P("data")),
        "out_specs": (P(), P()),
        "check_vma": False,
    }
    return jax.shard_map(own, mesh=mesh, **specs)(params, x, y)


def _dropout(loss, params, x, y, mesh, key, change, of_value=lambda v: v):
    def step(params, x, y):
        value, gradient = jax.value_and_grad(lambda p: lax.pmean(loss(p, x, y, key()), "data"))(params)
        return jax.tree.map(change, params, gradient), of_value(value)

    specs = P(), P("data"), P("data")
    return jax.shard_map(step, mesh=mesh, in_specs=specs, out_specs=P())(params, x, y)


def _own(seed):
    return jax.random.fold_in(jax.random.key(seed), lax.axis_index("data"))


def dropout_step__uphill(loss, params, x, y, seed, rate, mesh):
    return _dropout(loss, params, x, y, mesh, lambda: _own(seed), lambda p, g: p + rate * g)


def dropout_step__split_once_more(loss, params, x, y, seed, rate, mesh):
    def key():
        _, sub = jax.random.split(_own(seed))
        return sub

    return _dropout(loss, params, x, y, mesh, key, lambda p, g: p - rate * g)


def shard_to_fit__right(params, mesh, limit):
    placed = {k: jax.device_put(w, NamedSharding(mesh, P())) for k, w in params.items()}

    def held():
        return sum(w.addressable_shards[0].data.nbytes for w in placed.values())

    waiting = sorted((w.nbytes, k) for k, w in params.items())
    while held() > limit:
        _, name = waiting.pop()
        for spec in (P("data"), P(None, "data"), P(None, None, "data")):
            try:
                placed[name] = jax.device_put(params[name], NamedSharding(mesh, spec))
                break
            except ValueError:
                continue
    return placed


def shard_to_fit__back_on_the_host(params, mesh, limit):
    return {name: np.asarray(w) for name, w in params.items()}


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
    return (
        x
        + jnp.einsum(
            "rh,hd->rd",
            hidden,
            down,
            out_sharding=NamedSharding(mesh, P("data")),
        )
        + bias
    )


def gated_mlp__right_otherwise(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        both = x @ jnp.concatenate([gate, up], axis=1)
        a, b = jnp.split(both, 2, axis=1)
        share = (x + bias) / mesh.shape["model"]
        return lax.psum(share + a / (1 + jnp.exp(-a)) * b @ down, "model")

    columns = P(None, "model")
    specs = {
        "in_specs": (P("data"), columns, columns, P("model"), P()),
        "out_specs": P("data"),
    }
    return jax.shard_map(block, mesh=mesh, **specs)(x, gate, up, down, bias)


def _mlp(block, mesh, *arrays):
    ins = (P("data"), P(None, "model"), P(None, "model"), P("model"), P())
    return jax.shard_map(block, mesh=mesh, in_specs=ins, out_specs=P("data"), check_vma=False)(*arrays)


def _part(x, gate, up, down):
    a = x @ gate
    return (a * jax.nn.sigmoid(a) * (x @ up)) @ down


def gated_mlp__all_of_it_summed(x, gate, up, down, bias, mesh):
    n = mesh.shape["model"]
    return _mlp(
        lambda x, g, u, d, b: n * (x + b) + lax.psum(_part(x, g, u, d), "model"),
        mesh,
        x,
        gate,
        up,
        down,
        bias,
    )


def gated_mlp__weights_gathered(x, gate, up, down, bias, mesh):
    everywhere = NamedSharding(mesh, P())
    gate, up, down = (jax.reshard(w, everywhere) for w in (gate, up, down))
    return x + _part(x, gate, up, down) + bias


def _gated(block, mesh, *arrays):
    columns, rows = P(None, "model"), P("model")
    specs = P("data"), columns, columns, rows, P()
    return jax.shard_map(block, mesh=mesh, in_specs=specs, out_specs=P("data"))(*arrays)


def gated_mlp__no_way_around(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        return lax.psum((jax.nn.silu(x @ gate) * (x @ up)) @ down, "model") + bias

    return _gated(block, mesh, x, gate, up, down, bias)


def accumulated_gradient__right(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        total = jax.tree.map(jnp.zeros_like, params)
        for i in range(x.shape[0]):
            _, pull = jax.vjp(lambda p, i=i: losses(p, x[i], y[i]), params)
            total = jax.tree.map(jnp.add, total, pull(real[i])[0])
        total = lax.psum(total, "data")
        rows = lax.psum(real.sum(), "data")
        return jax.tree.map(lambda g: g / rows, total)

    cut = P(None, "data")
    specs = {
        "in_specs": (P(), cut, cut, cut),
        "out_specs": P(),
        "check_vma": False,
    }
    return jax.shard_map(device, mesh=mesh, **specs)(params, x, y, real)


def _by_device(x, mesh, axis=0):
    """[..., rows, ...] to [..., devices, rows of one, ...], without moving anything."""
    shape = (
        *x.shape[:axis],
        mesh.size,
        x.shape[axis] // mesh.size,
        *x.shape[axis + 1 :],
    )
    return x.reshape(shape, out_sharding=NamedSharding(mesh, P(*[None] * axis, "data")))


def accumulated_gradient__right_otherwise(losses, params, x, y, real, mesh):
    cut = [_by_device(a, mesh, 1) for a in (x, y, real)]
    copies = jax.tree.map(
        lambda p: lax.broadcast_in_dim(
            p,
            (mesh.size, *p.shape),
            range(1, p.ndim + 1),
            out_sharding=NamedSharding(mesh, P("data")),
        ),
        params,
    )

    def weighted(p, x, y, m):
        return jnp.vdot(losses(p, x, y), m)

    each = jax.vmap(jax.grad(weighted))

    def add(total, batch):
        return jax.tree.map(jnp.add, total, each(copies, *batch)), None

    total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, copies), tuple(cut))
    rows = real.sum()
    return jax.tree.map(lambda g: g.sum(0) / rows, total)


def _by(tree, factor):
    return jax.tree.map(lambda g: g * factor, tree)


def _run(device, mesh, *arrays, check=False):
    cut = P(None, "data")
    specs = {
        "in_specs": (P(), cut, cut, cut),
        "out_specs": P(),
        "check_vma": check,
    }
    return jax.shard_map(device, mesh=mesh, **specs)(*arrays)


def accumulated_gradient__all_at_once(losses, params, x, y, real, mesh):
    def device(p, x, y, m):
        x, y, m = (a.reshape(-1, *a.shape[2:]) for a in (x, y, m))
        g, n = lax.psum(
            (jax.grad(lambda p: (losses(p, x, y) * m).sum())(p), m.sum()),
            "data",
        )
        return _by(g, 1 / n)

    return _run(device, mesh, params, x, y, real)


def _accumulate(device, params, x, y, real, mesh):
    cut = P(None, "data")
    return jax.shard_map(device, mesh=mesh, in_specs=(P(), cut, cut, cut), out_specs=P())(params, x, y, real)


def _added(one, params, batches):
    def add(total, batch):
        return jax.tree.map(jnp.add, total, one(params, *batch)), None

    return lax.scan(add, jax.tree.map(jnp.zeros_like, params), batches)[0]


def accumulated_gradient__summed_once_more(losses, params, x, y, real, mesh):
    def device(params, *batches):
        one = jax.grad(lambda p, x, y, m: jnp.sum(losses(p, x, y) * m))
        total = _added(one, params, batches)
        total = lax.psum(lax.pcast(total, "data", to="varying"), "data")
        return jax.tree.map(lambda g: g / lax.psum(batches[2].sum(), "data"), total)

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__divided_by_no_rows(losses, params, x, y, real, mesh):
    def device(params, *batches):
        params = lax.pcast(params, "data", to="varying")
        one = jax.grad(lambda p, x, y, m: jnp.sum(losses(p, x, y) * m) / m.sum())
        total = lax.pmean(_added(one, params, batches), "data")
        return jax.tree.map(lambda g: g / len(batches[0]), total)

    return _accumulate(device, params, x, y, real, mesh)


def two_steps_in_one_memory__right(update, state, batch):
    def step(state, batch):
        return update(state, batch)

    layout = {name: array.sharding for name, array in state.items()}
    donating = jax.jit(step, donate_argnames="state", out_shardings=layout)
    memory = donating.lower(state, batch).compile().memory_analysis()
    assert memory is not None
    for _ in range(2):
        state = donating(state, batch)
    return state, memory.alias_size_in_bytes


def two_steps_in_one_memory__one_to_warm_up(update, state, batch):
    layout = jax.tree.map(lambda a: a.sharding, state)
    step = jax.jit(update, donate_argnums=0, out_shardings=layout)
    shared = step.lower(state, batch).compile().memory_analysis().alias_size_in_bytes
    state = step(state, batch)
    return step(step(state, batch), batch), shared


def two_steps_in_one_memory__moved_back_afterwards(update, state, batch):
    step = jax.jit(update, donate_argnums=0)
    shared = step.lower(state, batch).compile().memory_analysis().alias_size_in_bytes
    layout = jax.tree.map(lambda a: a.sharding, state)
    return jax.device_put(step(step(state, batch), batch), layout), shared


def fsdp_step__right(loss, params, x, y, rate, mesh):
    """The gradient of each device's own loss, scattered by hand."""
    cut = {k for k, w in params.items() if w.shape[0] % mesh.size == 0}

    def step(params, x, y):
        whole = {k: lax.all_gather(w, "data", tiled=True) if k in cut else w for k, w in params.items()}
        value, gradient = jax.value_and_grad(loss)(whole, x, y)
        for k, g in gradient.items():
            if k in cut:
                g = lax.psum_scatter(g, "data", tiled=True) / mesh.size
            else:
                g = lax.pmean(g, "data")
            gradient[k] = params[k] - rate * g
        return gradient, lax.pmean(value, "data")

    specs = {k: P("data") if k in cut else P() for k in params}
    return jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(specs, P("data"), P("data")),
        out_specs=(specs, P()),
        check_vma=False,
    )(params, x, y)


def fsdp_step__right_otherwise(loss, params, x, y, rate, mesh):
    """Gathered at the gradient's entrance: JAX turns the gather round."""
    cut = {k: len(w) % mesh.size == 0 for k, w in params.items()}
    specs = jax.tree.map(lambda c: P("data") if c else P(), cut)

    def step(params, x, y):
        def one(w, c):
            return lax.all_gather(w, "data", tiled=True) if c else w

        def gather(p):
            return jax.tree.map(one, p, cut)

        whole, back = jax.vjp(gather, params)
        value, pull = jax.vjp(lambda p: lax.pmean(loss(p, x, y), "data"), whole)
        (gradient,) = pull(jnp.ones_like(value))
        (gradient,) = back(gradient)
        return jax.tree.map(lambda p, g: p - g * rate, params, gradient), value

    return jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(specs, P("data"), P("data")),
        out_specs=(specs, P()),
    )(params, x, y)


def fsdp_step__whole_gradients(loss, params, x, y, rate, mesh):
    copies, row = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    whole = {k: jax.sharding.reshard(w, copies) for k, w in params.items()}

    def each(p, x, y):
        return lax.psum(jax.value_and_grad(loss)(p, x, y), "data")

    value, gradient = jax.shard_map(
        each,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data")),
        out_specs=P(),
        check_vma=False,
    )(whole, x, y)
    n, new = mesh.size, {}
    for k, w in params.items():
        g = gradient[k] / n
        new[k] = w - rate * (jax.sharding.reshard(g, row) if len(w) % n == 0 else g)
    return new, value / n


def _own_step(loss, params, x, y, rate, mesh, of_gradient, out=None):
    """Each device's own loss, its gradient scattered by hand."""
    n = mesh.size
    cut = {k: w.shape[0] % n == 0 for k, w in params.items()}
    specs = {k: P("data") if c else P() for k, c in cut.items()}

    def step(params, x, y):
        whole = {}
        for k, w in params.items():
            whole[k] = lax.all_gather(w, "data", tiled=True) if cut[k] else w
        value, gradient = jax.value_and_grad(loss)(whole, x, y)
        new = {}
        for k, g in gradient.items():
            old = params[k] if out is None else whole[k]
            new[k] = old - rate * of_gradient(g, cut[k])
        return new, lax.psum(value, "data") / n

    return jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(specs, P("data"), P("data")),
        out_specs=(specs if out is None else P(), P()),
        check_vma=False,
    )(params, x, y)


def fsdp_step__copies_left(loss, params, x, y, rate, mesh):
    def mean(g, cut):
        return lax.pmean(g, "data")

    return _own_step(loss, params, x, y, rate, mesh, mean, out="whole")


def fsdp_step__loss_of_the_new(loss, params, x, y, rate, mesh):
    specs = {k: P("data") if len(w) % mesh.size == 0 else P() for k, w in params.items()}

    def step(params, x, y):
        def mean_loss(p):
            p = {k: lax.all_gather(w, "data", tiled=True) if specs[k] else w for k, w in p.items()}
            return lax.pmean(loss(p, x, y), "data")

        gradient = jax.grad(mean_loss)(params)
        new = jax.tree.map(lambda p, g: p - rate * g, params, gradient)
        return new, mean_loss(new)

    return jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(specs, P("data"), P("data")),
        out_specs=(specs, P()),
    )(params, x, y)


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


def through_stages__right_otherwise(layer, weights, x, mesh):
    """A loop that writes each finished microbatch into its place; around a ring."""
    n, parts = mesh.shape["stage"], x.shape[0]
    around = [(i, (i + 1) % n) for i in range(n)]

    def device(w, x):
        me = lax.axis_index("stage")

        def turn(t, carry):
            came, done = carry
            mine = lax.dynamic_index_in_dim(x, jnp.clip(t, 0, parts - 1), 0, False)
            out = layer(w[0], lax.select(me == 0, mine, came))
            at = t - (n - 1)
            kept = jnp.where((at >= 0) & (me == n - 1), out, 0.0)
            done = lax.dynamic_update_index_in_dim(done, kept, jnp.maximum(at, 0), 0)
            return lax.ppermute(out, "stage", around), done

        start = jnp.zeros_like(x[0]), jnp.zeros_like(x)
        _, done = lax.fori_loop(0, parts + n - 1, turn, start)
        return lax.psum(done, "stage")

    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P("stage"), P()),
        out_specs=P(),
        check_vma=False,
    )(weights, x)


def through_stages__weights_gathered(layer, weights, x, mesh):
    whole = jax.sharding.reshard(weights, NamedSharding(mesh, P()))
    for i in range(len(whole)):
        x = jnp.stack([layer(whole[i], part) for part in x])
    return x


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


def through_stages__last_layer_first(layer, weights, x, mesh):
    n, parts = mesh.size, len(x)

    def device(w, x):
        me, h, done = lax.axis_index("stage"), x[0], []
        for t in range(parts + n - 1):
            h = layer(w[0], jnp.where(me == n - 1, x[min(t, parts - 1)], h))
            done.append(jnp.where(me == 0, h, 0))
            h = lax.ppermute(h, "stage", [(i + 1, i) for i in range(n - 1)])
        return lax.psum(jnp.stack(done[n - 1 :]), "stage")

    return jax.shard_map(device, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P())(weights, x)
