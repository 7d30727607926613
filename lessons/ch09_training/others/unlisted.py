"""Wrong answers of ch09_training that its mistakes.py does not know, written after the checks were finished."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _dropout(loss, params, x, y, mesh, key, change, of_value=lambda v: v):
    def step(params, x, y):
        value, gradient = jax.value_and_grad(
            lambda p: lax.pmean(loss(p, x, y, key()), "data")
        )(params)
        return jax.tree.map(change, params, gradient), of_value(value)

    specs = P(), P("data"), P("data")
    return jax.shard_map(step, mesh=mesh, in_specs=specs, out_specs=P())(
        params, x, y
    )


def _own(seed):
    return jax.random.fold_in(jax.random.key(seed), lax.axis_index("data"))


def dropout_step__uphill(loss, params, x, y, seed, rate, mesh):
    return _dropout(
        loss, params, x, y, mesh, lambda: _own(seed), lambda p, g: p + rate * g
    )


def dropout_step__split_once_more(loss, params, x, y, seed, rate, mesh):
    def key():
        _, sub = jax.random.split(_own(seed))
        return sub

    return _dropout(loss, params, x, y, mesh, key, lambda p, g: p - rate * g)


def dropout_step__number_of_the_process(loss, params, x, y, seed, rate, mesh):
    def key():
        return jax.random.fold_in(jax.random.key(seed), jax.process_index())

    return _dropout(loss, params, x, y, mesh, key, lambda p, g: p - rate * g)


def _fits(w, n):
    return [i for i, size in enumerate(w.shape) if size % n == 0]


def _cut(params, mesh, names):
    places = {}
    for k, w in params.items():
        dims = _fits(w, mesh.size) if k in names else []
        places[k] = NamedSharding(
            mesh, P(*[None] * dims[0], "data") if dims else P()
        )
    return places


def _by_size(params):
    return sorted(params, key=lambda k: -params[k].nbytes)


def _saved(w, n):
    return w.nbytes - w.nbytes // n if _fits(w, n) else 0


def shard_to_fit__back_on_the_host(params, mesh, limit):
    return {name: np.asarray(w) for name, w in params.items()}


def shard_to_fit__smallest_that_is_enough(params, mesh, limit):
    held, names = sum(w.nbytes for w in params.values()), []
    for name in _by_size(params):
        if held <= limit:
            break
        enough = [
            k
            for k in params
            if k not in names and held - _saved(params[k], mesh.size) <= limit
        ]
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


def shard_to_fit__layouts_returned(params, mesh, limit):
    held, names = sum(w.nbytes for w in params.values()), []
    for name in _by_size(params):
        if held <= limit:
            break
        names.append(name)
        held -= _saved(params[name], mesh.size)
    return _cut(params, mesh, names)


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
    return jax.device_put(
        params, {k: NamedSharding(mesh, spec) for k, spec in specs.items()}
    )


def _gated(block, mesh, *arrays):
    columns, rows = P(None, "model"), P("model")
    specs = P("data"), columns, columns, rows, P()
    return jax.shard_map(block, mesh=mesh, in_specs=specs, out_specs=P("data"))(
        *arrays
    )


def gated_mlp__no_way_around(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        return (
            lax.psum((jax.nn.silu(x @ gate) * (x @ up)) @ down, "model") + bias
        )

    return _gated(block, mesh, x, gate, up, down, bias)


def _accumulate(device, params, x, y, real, mesh):
    cut = P(None, "data")
    return jax.shard_map(
        device, mesh=mesh, in_specs=(P(), cut, cut, cut), out_specs=P()
    )(params, x, y, real)


def _added(one, params, batches):
    def add(total, batch):
        return jax.tree.map(jnp.add, total, one(params, *batch)), None

    return lax.scan(add, jax.tree.map(jnp.zeros_like, params), batches)[0]


def accumulated_gradient__summed_once_more(losses, params, x, y, real, mesh):
    def device(params, *batches):
        one = jax.grad(lambda p, x, y, m: jnp.sum(losses(p, x, y) * m))
        total = _added(one, params, batches)
        total = lax.psum(lax.pcast(total, "data", to="varying"), "data")
        return jax.tree.map(
            lambda g: g / lax.psum(batches[2].sum(), "data"), total
        )

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__inputs_masked(losses, params, x, y, real, mesh):
    def device(params, *batches):
        params = lax.pcast(params, "data", to="varying")
        one = jax.grad(lambda p, x, y, m: jnp.sum(losses(p, x * m[:, None], y)))
        total, rows = lax.psum(
            (_added(one, params, batches), batches[2].sum()), "data"
        )
        return jax.tree.map(lambda g: g / rows, total)

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__divided_by_no_rows(losses, params, x, y, real, mesh):
    def device(params, *batches):
        params = lax.pcast(params, "data", to="varying")
        one = jax.grad(
            lambda p, x, y, m: jnp.sum(losses(p, x, y) * m) / m.sum()
        )
        total = lax.pmean(_added(one, params, batches), "data")
        return jax.tree.map(lambda g: g / len(batches[0]), total)

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__rows_of_one_device(losses, params, x, y, real, mesh):
    def device(params, *batches):
        params = lax.pcast(params, "data", to="varying")
        one = jax.grad(lambda p, x, y, m: jnp.sum(losses(p, x, y) * m))
        total = lax.psum(_added(one, params, batches), "data")
        rows = lax.pmean(batches[2].sum(), "data")
        return jax.tree.map(lambda g: g / rows, total)

    return _accumulate(device, params, x, y, real, mesh)


def two_steps_in_one_memory__all_devices_counted(update, state, batch):
    layout = jax.tree.map(lambda a: a.sharding, state)
    step = (
        jax.jit(update, donate_argnums=0, out_shardings=layout)
        .lower(state, batch)
        .compile()
    )
    devices = len(batch.sharding.device_set)
    return step(
        step(state, batch), batch
    ), step.memory_analysis().alias_size_in_bytes * devices


def two_steps_in_one_memory__one_to_warm_up(update, state, batch):
    layout = jax.tree.map(lambda a: a.sharding, state)
    step = jax.jit(update, donate_argnums=0, out_shardings=layout)
    shared = (
        step.lower(state, batch).compile().memory_analysis().alias_size_in_bytes
    )
    state = step(state, batch)
    return step(step(state, batch), batch), shared


def two_steps_in_one_memory__moved_back_afterwards(update, state, batch):
    step = jax.jit(update, donate_argnums=0)
    shared = (
        step.lower(state, batch).compile().memory_analysis().alias_size_in_bytes
    )
    layout = jax.tree.map(lambda a: a.sharding, state)
    return jax.device_put(step(step(state, batch), batch), layout), shared


def two_steps_in_one_memory__temporary_memory(update, state, batch):
    layout = jax.tree.map(lambda a: a.sharding, state)
    step = (
        jax.jit(update, donate_argnums=0, out_shardings=layout)
        .lower(state, batch)
        .compile()
    )
    return step(
        step(state, batch), batch
    ), step.memory_analysis().temp_size_in_bytes


def two_steps_in_one_memory__donating_only_compiled(update, state, batch):
    layout = jax.tree.map(lambda a: a.sharding, state)
    donating = jax.jit(update, donate_argnums=0, out_shardings=layout)
    memory = donating.lower(state, batch).compile().memory_analysis()
    step = jax.jit(update, out_shardings=layout)
    return step(step(state, batch), batch), memory.alias_size_in_bytes


def fsdp_step__uphill(loss, params, x, y, rate, mesh):
    specs = {
        k: P("data") if len(w) % mesh.size == 0 else P()
        for k, w in params.items()
    }

    def step(params, x, y):
        def mean_loss(p):
            p = {
                k: lax.all_gather(w, "data", tiled=True) if specs[k] else w
                for k, w in p.items()
            }
            return lax.pmean(loss(p, x, y), "data")

        value, gradient = jax.value_and_grad(mean_loss)(params)
        return jax.tree.map(lambda p, g: p + rate * g, params, gradient), value

    return jax.shard_map(
        step,
        mesh=mesh,
        in_specs=(specs, P("data"), P("data")),
        out_specs=(specs, P()),
    )(params, x, y)


def fsdp_step__loss_of_the_new(loss, params, x, y, rate, mesh):
    specs = {
        k: P("data") if len(w) % mesh.size == 0 else P()
        for k, w in params.items()
    }

    def step(params, x, y):
        def mean_loss(p):
            p = {
                k: lax.all_gather(w, "data", tiled=True) if specs[k] else w
                for k, w in p.items()
            }
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


def through_stages__last_layer_first(layer, weights, x, mesh):
    n, parts = mesh.size, len(x)

    def device(w, x):
        me, h, done = lax.axis_index("stage"), x[0], []
        for t in range(parts + n - 1):
            h = layer(w[0], jnp.where(me == n - 1, x[min(t, parts - 1)], h))
            done.append(jnp.where(me == 0, h, 0))
            h = lax.ppermute(h, "stage", [(i + 1, i) for i in range(n - 1)])
        return lax.psum(jnp.stack(done[n - 1 :]), "stage")

    return jax.shard_map(
        device, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P()
    )(weights, x)


def through_stages__one_turn_short(layer, weights, x, mesh):
    n, parts = mesh.size, len(x)

    def device(w, x):
        me, h, done = lax.axis_index("stage"), x[0], []
        for t in range(parts + n - 2):
            h = layer(w[0], jnp.where(me == 0, x[min(t, parts - 1)], h))
            done.append(jnp.where(me == n - 1, h, 0))
            h = lax.ppermute(h, "stage", [(i, i + 1) for i in range(n - 1)])
        return lax.psum(jnp.stack(done[-parts:]), "stage")

    return jax.shard_map(
        device, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P()
    )(weights, x)
