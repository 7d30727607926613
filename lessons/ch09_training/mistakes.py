"""Known wrong answers of ch09_training, as code; words.toml explains them."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _descend(params, gradient, rate):
    return jax.tree.map(lambda p, g: p - rate * g, params, gradient)


def _on_devices(mesh, step, *arrays, check=True):
    cut = [P("data")] * (len(arrays) - 1)
    specs = {"in_specs": (P(), *cut), "out_specs": P(), "check_vma": check}
    return jax.shard_map(step, mesh=mesh, **specs)(*arrays)


def _own_key(seed):
    return jax.random.fold_in(jax.random.key(seed), lax.axis_index("data"))


def _dropout(loss, params, x, y, rate, mesh, key, change=_descend):
    def step(params, x, y):
        def mean_loss(p):
            return lax.pmean(loss(p, x, y, key()), "data")

        value, gradient = jax.value_and_grad(mean_loss)(params)
        return change(params, gradient, rate), value

    return _on_devices(mesh, step, params, x, y)


def dropout_step__same_key(loss, params, x, y, seed, rate, mesh):
    key = partial(jax.random.key, seed)
    return _dropout(loss, params, x, y, rate, mesh, key)


def dropout_step__seed_plus_number(loss, params, x, y, seed, rate, mesh):
    def key():
        return jax.random.key(seed + lax.axis_index("data"))

    return _dropout(loss, params, x, y, rate, mesh, key)


def dropout_step__folded_the_other_way(loss, params, x, y, seed, rate, mesh):
    def key():
        return jax.random.fold_in(jax.random.key(lax.axis_index("data")), seed)

    return _dropout(loss, params, x, y, rate, mesh, key)


def dropout_step__summed(loss, params, x, y, seed, rate, mesh):
    def step(params, x, y):
        local = partial(loss, x=x, y=y, key=_own_key(seed))
        value, gradient = jax.value_and_grad(local)(params)
        value, gradient = lax.pmean((value, gradient), "data")
        return _descend(params, gradient, rate), value

    return _on_devices(mesh, step, params, x, y)


def dropout_step__alone(loss, params, x, y, seed, rate, mesh):
    def step(params, x, y):
        local = partial(loss, x=x, y=y, key=_own_key(seed))
        value, gradient = jax.value_and_grad(local)(params)
        return _descend(params, gradient, rate), value

    return _on_devices(mesh, step, params, x, y, check=False)


def dropout_step__own_loss(loss, params, x, y, seed, rate, mesh):
    def step(params, x, y):
        local = partial(loss, x=x, y=y, key=_own_key(seed))
        value, gradient = jax.value_and_grad(local)(params)
        return _descend(params, lax.pmean(gradient, "data"), rate), value

    return _on_devices(mesh, step, params, x, y, check=False)


def dropout_step__parameters_summed(loss, params, x, y, seed, rate, mesh):
    def change(params, gradient, rate):
        return lax.psum(_descend(params, gradient, rate), "data")

    key = partial(_own_key, seed)
    return _dropout(loss, params, x, y, rate, mesh, key, change)


def dropout_step__losses_added(loss, params, x, y, seed, rate, mesh):
    def step(params, x, y):
        def total(p):
            return lax.psum(loss(p, x, y, _own_key(seed)), "data")

        value, gradient = jax.value_and_grad(total)(params)
        return _descend(params, gradient, rate), value

    return _on_devices(mesh, step, params, x, y)


def dropout_step__one_key_for_all(loss, params, x, y, seed, rate, mesh):
    key = jax.random.fold_in(jax.random.key(seed), 0)
    value, gradient = jax.value_and_grad(loss)(params, x, y, key)
    return _descend(params, gradient, rate), value


def dropout_step__value_after_the_step(loss, params, x, y, seed, rate, mesh):
    def step(params, x, y):
        def mean_loss(p):
            return lax.pmean(loss(p, x, y, _own_key(seed)), "data")

        new = _descend(params, jax.grad(mean_loss)(params), rate)
        return new, mean_loss(new)

    return _on_devices(mesh, step, params, x, y)


def _dims(w, n):
    return [i for i, size in enumerate(w.shape) if size % n == 0]


def _cut(params, mesh, names, choose=min):
    specs = dict.fromkeys(params, P())
    for name in names:
        w = params[name]
        if dims := _dims(w, mesh.size):
            specs[name] = P(*[None] * choose(dims), "data")
    places = {k: NamedSharding(mesh, spec) for k, spec in specs.items()}
    return jax.device_put(params, places)


def _enough(params, mesh, limit, order, freed=None):
    """The first of the names in `order` after which the rest fits."""

    def saves(w):
        return w.nbytes - w.nbytes // mesh.size if _dims(w, mesh.size) else 0

    held, names = sum(w.nbytes for w in params.values()), []
    for name in order:
        if held <= limit:
            break
        names.append(name)
        held -= (freed or saves)(params[name])
    return names


def _largest_first(params):
    return sorted(params, key=lambda k: -params[k].nbytes)


def shard_to_fit__everything(params, mesh, limit):
    return _cut(params, mesh, params)


def shard_to_fit__nothing(params, mesh, limit):
    return _cut(params, mesh, [])


def shard_to_fit__by_elements(params, mesh, limit):
    order = sorted(params, key=lambda k: -params[k].size)
    return _cut(params, mesh, _enough(params, mesh, limit, order))


def shard_to_fit__smallest_first(params, mesh, limit):
    order = _largest_first(params)[::-1]
    return _cut(params, mesh, _enough(params, mesh, limit, order))


def shard_to_fit__largest_dimension(params, mesh, limit):
    names = _enough(params, mesh, limit, _largest_first(params))
    specs = dict.fromkeys(params, P())
    for name in names:
        shape = params[name].shape
        if dims := _dims(params[name], mesh.size):
            specs[name] = P(*[None] * max(dims, key=lambda i: shape[i]), "data")
    places = {k: NamedSharding(mesh, spec) for k, spec in specs.items()}
    return jax.device_put(params, places)


def shard_to_fit__last_dimension(params, mesh, limit):
    names = _enough(params, mesh, limit, _largest_first(params))
    return _cut(params, mesh, names, max)


def shard_to_fit__first_or_nothing(params, mesh, limit):
    names = _enough(params, mesh, limit, _largest_first(params))
    places = {
        k: NamedSharding(mesh, P("data") if k in names else P()) for k in params
    }
    return jax.device_put(params, places)


def shard_to_fit__gone_when_cut(params, mesh, limit):
    def whole(w):
        return w.nbytes if _dims(w, mesh.size) else 0

    names = _enough(params, mesh, limit, _largest_first(params), whole)
    return _cut(params, mesh, names)


def shard_to_fit__uncut_counted(params, mesh, limit):
    def share(w):
        return w.nbytes - w.nbytes // mesh.size

    names = _enough(params, mesh, limit, _largest_first(params), share)
    return _cut(params, mesh, names)


def shard_to_fit__below_the_limit(params, mesh, limit):
    order = _largest_first(params)
    return _cut(params, mesh, _enough(params, mesh, limit - 1, order))


def shard_to_fit__first_dimension_alone(params, mesh, limit):
    held, names = sum(w.nbytes for w in params.values()), []
    for name in _largest_first(params):
        w = params[name]
        if held > limit and w.ndim and w.shape[0] % mesh.size == 0:
            names.append(name)
            held -= w.nbytes - w.nbytes // mesh.size
    return _cut(params, mesh, names)


def _gated(block, arrays, mesh, check=True):
    columns, rows = P(None, "model"), P("model")
    ins, outs = (P("data"), columns, columns, rows, P()), P("data")
    specs = {"in_specs": ins, "out_specs": outs, "check_vma": check}
    return jax.shard_map(block, mesh=mesh, **specs)(*arrays)


def _hidden(x, gate, up):
    return jax.nn.silu(x @ gate) * (x @ up)


def gated_mlp__all_of_it_summed(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        return lax.psum(x + _hidden(x, gate, up) @ down + bias, "model")

    return _gated(block, (x, gate, up, down, bias), mesh)


def gated_mlp__bias_summed(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        return x + lax.psum(_hidden(x, gate, up) @ down + bias, "model")

    return _gated(block, (x, gate, up, down, bias), mesh)


def gated_mlp__x_summed(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        return lax.psum(x + _hidden(x, gate, up) @ down, "model") + bias

    return _gated(block, (x, gate, up, down, bias), mesh)


def gated_mlp__shared_among_all(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        own = _hidden(x, gate, up) @ down + (x + bias) / mesh.size
        return lax.psum(own, "model")

    return _gated(block, (x, gate, up, down, bias), mesh)


def gated_mlp__other_factor(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        return x + lax.psum(_hidden(x, up, gate) @ down, "model") + bias

    return _gated(block, (x, gate, up, down, bias), mesh)


def gated_mlp__own_part(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        return x + _hidden(x, gate, up) @ down + bias

    return _gated(block, (x, gate, up, down, bias), mesh, check=False)


def gated_mlp__averaged(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        return x + lax.pmean(_hidden(x, gate, up) @ down, "model") + bias

    return _gated(block, (x, gate, up, down, bias), mesh)


def gated_mlp__hidden_summed(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        first = jax.nn.silu(lax.psum(x @ gate, "model")) * (x @ up)
        return x + lax.psum(first @ down, "model") + bias

    return _gated(block, (x, gate, up, down, bias), mesh)


def gated_mlp__weights_gathered(x, gate, up, down, bias, mesh):
    def whole(w, axis):
        return lax.all_gather(w, "model", axis=axis, tiled=True)

    def block(x, gate, up, down, bias):
        hidden = _hidden(x, whole(gate, 1), whole(up, 1))
        return x + hidden @ whole(down, 0) + bias

    return _gated(block, (x, gate, up, down, bias), mesh, check=False)


def gated_mlp__sigmoid(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        hidden = jax.nn.sigmoid(x @ gate) * (x @ up)
        return x + lax.psum(hidden @ down, "model") + bias

    return _gated(block, (x, gate, up, down, bias), mesh)


def gated_mlp__gelu(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        hidden = jax.nn.gelu(x @ gate) * (x @ up)
        return x + lax.psum(hidden @ down, "model") + bias

    return _gated(block, (x, gate, up, down, bias), mesh)


def gated_mlp__rows_mixed(x, gate, up, down, bias, mesh):
    def block(x, gate, up, down, bias):
        part = _hidden(x, gate, up) @ down
        return x + lax.psum(part, ("data", "model")) + bias

    return _gated(block, (x, gate, up, down, bias), mesh, check=False)


def _accumulate(device, params, x, y, real, mesh, check=False):
    cut = P(None, "data")
    ins = (P(), cut, cut, cut)
    specs = {"in_specs": ins, "out_specs": P(), "check_vma": check}
    return jax.shard_map(device, mesh=mesh, **specs)(params, x, y, real)


def _gradients(losses, params, x, y, real):
    """Gradients of each microbatch's sum, stacked: f32[micro, ...]."""
    one = jax.grad(lambda p, x, y, m: jnp.sum(losses(p, x, y) * m))
    return lax.map(lambda batch: one(params, *batch), (x, y, real))


def _scaled(tree, by):
    return jax.tree.map(
        lambda g: jnp.tensordot(by, g, 1) if by.ndim else by * g, tree
    )


def accumulated_gradient__mean_of_means(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        rows = lax.psum(real.sum(1), "data")
        g = _gradients(losses, params, x, y, real)
        means = _scaled(g, 1 / jnp.maximum(rows, 1) / len(rows))
        return lax.psum(means, "data")

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__mean_of_devices(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        g = _gradients(losses, params, x, y, real)
        mine = jax.tree.map(lambda g: g.sum(0), g)
        return lax.pmean(_scaled(mine, 1 / jnp.maximum(real.sum(), 1)), "data")

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__padding_in_the_count(
    losses, params, x, y, real, mesh
):
    def device(params, x, y, real):
        g = _gradients(losses, params, x, y, real)
        mine = jax.tree.map(lambda g: g.sum(0) / real.size, g)
        return lax.pmean(mine, "data")

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__padding_trained_on(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        g = _gradients(losses, params, x, y, jnp.ones_like(real))
        mine = jax.tree.map(lambda g: g.sum(0) / real.size, g)
        return lax.pmean(mine, "data")

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__never_divided(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        g = _gradients(losses, params, x, y, real)
        return lax.psum(jax.tree.map(lambda g: g.sum(0), g), "data")

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__only_the_last(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        g = _gradients(losses, params, x, y, real)
        total, rows = lax.psum(
            (jax.tree.map(lambda g: g[-1], g), real.sum()), "data"
        )
        return _scaled(total, 1 / rows)

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__talks_every_time(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        one = jax.grad(lambda p, x, y, m: jnp.sum(losses(p, x, y) * m))

        def add(total, batch):
            return jax.tree.map(jnp.add, total, one(params, *batch)), None

        zeros = jax.tree.map(jnp.zeros_like, params)
        total, _ = lax.scan(add, zeros, (x, y, real))
        return _scaled(total, 1 / lax.psum(real.sum(), "data"))

    return _accumulate(device, params, x, y, real, mesh, check=True)


def accumulated_gradient__all_at_once(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        rows = jnp.concatenate(x), jnp.concatenate(y), jnp.concatenate(real)
        one = jax.grad(lambda p, x, y, m: jnp.sum(losses(p, x, y) * m))
        total, n = lax.psum((one(params, *rows), real.sum()), "data")
        return _scaled(total, 1 / n)

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__every_part_alike(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        g = _gradients(losses, params, x, y, real)
        rows = jnp.maximum(real.sum(1), 1)
        return lax.pmean(_scaled(g, 1 / rows / len(rows)), "data")

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__mask_only_counted(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        g = _gradients(losses, params, x, y, jnp.ones_like(real))
        mine = jax.tree.map(lambda g: g.sum(0), g)
        total, rows = lax.psum((mine, real.sum()), "data")
        return _scaled(total, 1 / rows)

    return _accumulate(device, params, x, y, real, mesh)


def accumulated_gradient__zeros_have_a_loss(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        x, y = x * real[..., None], y * real[..., None]
        g = _gradients(losses, params, x, y, jnp.ones_like(real))
        mine = jax.tree.map(lambda g: g.sum(0), g)
        total, rows = lax.psum((mine, real.sum()), "data")
        return _scaled(total, 1 / rows)

    return _accumulate(device, params, x, y, real, mesh)


def _layout(state):
    return jax.tree.map(lambda array: array.sharding, state)


def _shared(step, state, batch):
    memory = step.lower(state, batch).compile().memory_analysis()
    return memory.alias_size_in_bytes


def two_steps_in_one_memory__not_donated(update, state, batch):
    step = jax.jit(update, out_shardings=_layout(state))
    shared = _shared(step, state, batch)
    return step(step(state, batch), batch), shared


def two_steps_in_one_memory__layout_lost(update, state, batch):
    step = jax.jit(update, donate_argnums=0)
    shared = _shared(step, state, batch)
    return step(step(state, batch), batch), shared


def two_steps_in_one_memory__does_not_fit(update, state, batch):
    step = jax.jit(update, donate_argnums=0).lower(state, batch).compile()
    memory = step.memory_analysis()
    assert memory is not None
    return step(step(state, batch), batch), memory.alias_size_in_bytes


def two_steps_in_one_memory__whole_arrays(update, state, batch):
    step = jax.jit(update, donate_argnums=0, out_shardings=_layout(state))
    shared = sum(array.nbytes for array in state.values())
    return step(step(state, batch), batch), shared


def two_steps_in_one_memory__all_output(update, state, batch):
    step = jax.jit(update, donate_argnums=0, out_shardings=_layout(state))
    memory = step.lower(state, batch).compile().memory_analysis()
    assert memory is not None
    new = step(step(state, batch), batch)
    return new, memory.output_size_in_bytes


def two_steps_in_one_memory__one_step(update, state, batch):
    step = jax.jit(update, donate_argnums=0, out_shardings=_layout(state))
    shared = _shared(step, state, batch)
    return step(state, batch), shared


def two_steps_in_one_memory__all_arguments(update, state, batch):
    step = jax.jit(update, donate_argnums=0, out_shardings=_layout(state))
    memory = step.lower(state, batch).compile().memory_analysis()
    assert memory is not None
    new = step(step(state, batch), batch)
    return new, memory.argument_size_in_bytes


def _specs(params, mesh):
    """FSDP's: cut where the mesh's size divides the first dimension."""
    fits = {name: len(w) % mesh.size == 0 for name, w in params.items()}
    return {name: P("data") if fits[name] else P() for name in params}


def _whole(params, specs):
    return {
        name: lax.all_gather(w, "data", tiled=True) if specs[name] else w
        for name, w in params.items()
    }


def _fully_sharded(step, params, x, y, mesh, check=True):
    cut, specs = P("data"), _specs(params, mesh)
    places = {"in_specs": (specs, cut, cut), "out_specs": (specs, P())}
    step = partial(step, specs)
    mapped = jax.shard_map(step, mesh=mesh, check_vma=check, **places)
    return mapped(params, x, y)


def fsdp_step__summed_loss(loss, params, x, y, rate, mesh):
    def step(specs, params, x, y):
        def own(p):
            return loss(_whole(p, specs), x, y)

        value, gradient = jax.value_and_grad(own)(params)
        return _descend(params, gradient, rate), lax.pmean(value, "data")

    return _fully_sharded(step, params, x, y, mesh)


def fsdp_step__averaged_pieces(loss, params, x, y, rate, mesh):
    def step(specs, params, x, y):
        def own(p):
            return loss(_whole(p, specs), x, y)

        both = jax.value_and_grad(own)(params)
        value, gradient = lax.pmean(both, "data")
        return _descend(params, gradient, rate), value

    return _fully_sharded(step, params, x, y, mesh, check=False)


def fsdp_step__whole_gradients(loss, params, x, y, rate, mesh):
    def step(specs, params, x, y):
        both = jax.value_and_grad(loss)(_whole(params, specs), x, y)
        value, gradient = lax.pmean(both, "data")
        me = lax.axis_index("data")
        for name, w in params.items():
            if specs[name]:
                g, rows = gradient[name], len(w)
                mine = lax.dynamic_slice_in_dim(g, me * rows, rows)
                gradient[name] = mine
        return _descend(params, gradient, rate), value

    return _fully_sharded(step, params, x, y, mesh, check=False)


def fsdp_step__copies_left(loss, params, x, y, rate, mesh):
    def step(params, x, y):
        def mean_loss(p):
            return lax.pmean(loss(p, x, y), "data")

        value, gradient = jax.value_and_grad(mean_loss)(params)
        return _descend(params, gradient, rate), value

    copies = NamedSharding(mesh, P())
    whole = {k: jax.sharding.reshard(w, copies) for k, w in params.items()}
    return _on_devices(mesh, step, whole, x, y)


def _staged(layer, weights, x, mesh, turns, results):
    """The pipeline for so many turns; results(me, outs) what a device gives."""
    n, parts = mesh.size, len(x)

    def device(w, x):
        me, to_next = (
            lax.axis_index("stage"),
            [(i, i + 1) for i in range(n - 1)],
        )

        def tick(received, t):
            first = x[jnp.minimum(t, parts - 1)]
            out = layer(w[0], jnp.where(me == 0, first, received))
            return lax.ppermute(out, "stage", to_next), out

        _, outs = lax.scan(tick, jnp.zeros_like(x[0]), jnp.arange(turns))
        return results(me, outs)

    specs = {
        "in_specs": (P("stage"), P()),
        "out_specs": P(),
        "check_vma": False,
    }
    return jax.shard_map(device, mesh=mesh, **specs)(weights, x)


def through_stages__bubble_kept(layer, weights, x, mesh):
    n, parts = mesh.size, len(x)

    def first_turns(me, outs):
        return lax.psum(jnp.where(me == n - 1, outs[:parts], 0), "stage")

    return _staged(layer, weights, x, mesh, parts + n - 1, first_turns)


def through_stages__all_stages_summed(layer, weights, x, mesh):
    n = mesh.size

    def everybody(me, outs):
        return lax.psum(outs[n - 1 :], "stage")

    return _staged(layer, weights, x, mesh, len(x) + n - 1, everybody)


def through_stages__masked_by_a_product(layer, weights, x, mesh):
    n, parts = mesh.size, len(x)

    def device(w, x):
        me, to_next = (
            lax.axis_index("stage"),
            [(i, i + 1) for i in range(n - 1)],
        )

        def tick(carry, t):
            received, done = carry
            first, at = x[jnp.minimum(t, parts - 1)], t - (n - 1)
            out = layer(w[0], jnp.where(me == 0, first, received))
            mine = out * ((at >= 0) & (me == n - 1))
            done = done.at[jnp.maximum(at, 0)].add(mine)
            return (lax.ppermute(out, "stage", to_next), done), None

        start = jnp.zeros_like(x[0]), jnp.zeros_like(x)
        (_, done), _ = lax.scan(tick, start, jnp.arange(parts + n - 1))
        return lax.psum(done, "stage")

    specs = {"in_specs": (P("stage"), P()), "out_specs": P()}
    mapped = jax.shard_map(device, mesh=mesh, check_vma=False, **specs)
    return mapped(weights, x)


def through_stages__only_the_last_has_it(layer, weights, x, mesh):
    n = mesh.size
    return _staged(
        layer, weights, x, mesh, len(x) + n - 1, lambda me, outs: outs[n - 1 :]
    )


def through_stages__whole_batch_in_a_turn(layer, weights, x, mesh):
    n = mesh.size

    def device(w, x):
        me, to_next = (
            lax.axis_index("stage"),
            [(i, i + 1) for i in range(n - 1)],
        )
        for t in range(n):
            out = jax.vmap(lambda h: layer(w[0], h))(x)
            x = lax.ppermute(out, "stage", to_next) if t < n - 1 else out
        return lax.psum(jnp.where(me == n - 1, x, 0), "stage")

    specs = {"in_specs": (P("stage"), P()), "out_specs": P()}
    mapped = jax.shard_map(device, mesh=mesh, check_vma=False, **specs)
    return mapped(weights, x)


def through_stages__weights_gathered(layer, weights, x, mesh):
    def device(w, x):
        for each in lax.all_gather(w, "stage", tiled=True):
            x = jax.vmap(lambda h, each=each: layer(each, h))(x)
        return x

    specs = {
        "in_specs": (P("stage"), P()),
        "out_specs": P(),
        "check_vma": False,
    }
    return jax.shard_map(device, mesh=mesh, **specs)(weights, x)
