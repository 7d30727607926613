"""Mistakes of ch09_training once more, spelled differently, where that may tell: the name must be the same."""

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import NamedSharding


def _each(loss, params, x, y, mesh, key):
    """Every device's loss and gradient, stacked over the devices."""

    def own(params, x, y):
        return jax.tree.map(
            lambda a: a[None],
            jax.value_and_grad(loss)(params, x, y, key(lax.axis_index("data"))),
        )

    specs = {
        "in_specs": (P(), P("data"), P("data")),
        "out_specs": P("data"),
        "check_vma": False,
    }
    return jax.shard_map(own, mesh=mesh, **specs)(params, x, y)


def _mean(values):
    return jax.tree.map(lambda a: a.mean(0), values)


def _down(params, gradient, rate):
    return {k: p - rate * gradient[k] for k, p in params.items()}


def _folded(seed):
    return lambda i: jax.random.fold_in(jax.random.key(seed), i)


def dropout_step__same_key(loss, params, x, y, seed, rate, mesh):
    value, gradient = _mean(
        _each(loss, params, x, y, mesh, lambda i: jax.random.key(seed))
    )
    return _down(params, gradient, rate), value


def dropout_step__seed_plus_number(loss, params, x, y, seed, rate, mesh):
    value, gradient = _mean(
        _each(loss, params, x, y, mesh, lambda i: jax.random.key(i + seed))
    )
    return _down(params, gradient, rate), value


def _checked(own, mesh, *arrays):
    specs = {"in_specs": (P(), P("data"), P("data")), "out_specs": (P(), P())}
    return jax.shard_map(own, mesh=mesh, **specs)(*arrays)


def dropout_step__summed(loss, params, x, y, seed, rate, mesh):
    def own(params, x, y):
        value, pull = jax.vjp(
            lambda p: loss(p, x, y, _folded(seed)(lax.axis_index("data"))),
            params,
        )
        (gradient,) = pull(jnp.ones_like(value))
        gradient = {
            k: lax.psum(g, "data") / mesh.size for k, g in gradient.items()
        }
        return _down(params, gradient, rate), lax.pmean(value, "data")

    return _checked(own, mesh, params, x, y)


def dropout_step__alone(loss, params, x, y, seed, rate, mesh):
    def own(params, x, y):
        value, gradient = jax.value_and_grad(loss)(
            params, x, y, _folded(seed)(lax.axis_index("data"))
        )
        return _down(params, gradient, rate), value

    specs = {
        "in_specs": (P(), P("data"), P("data")),
        "out_specs": (P(), P()),
        "check_vma": False,
    }
    return jax.shard_map(own, mesh=mesh, **specs)(params, x, y)


def dropout_step__own_loss(loss, params, x, y, seed, rate, mesh):
    def own(params, x, y):
        value, gradient = jax.value_and_grad(loss)(
            params, x, y, _folded(seed)(lax.axis_index("data"))
        )
        gradient = {
            k: lax.psum(g, "data") / mesh.size for k, g in gradient.items()
        }
        return _down(params, gradient, rate), value

    specs = {
        "in_specs": (P(), P("data"), P("data")),
        "out_specs": (P(), P()),
        "check_vma": False,
    }
    return jax.shard_map(own, mesh=mesh, **specs)(params, x, y)


def dropout_step__parameters_summed(loss, params, x, y, seed, rate, mesh):
    def own(params, x, y):
        key = _folded(seed)(lax.axis_index("data"))
        value, gradient = jax.value_and_grad(
            lambda p: lax.psum(loss(p, x, y, key), "data") / mesh.size
        )(params)
        return {
            k: lax.psum(p - rate * gradient[k], "data")
            for k, p in params.items()
        }, value

    return _checked(own, mesh, params, x, y)


def dropout_step__losses_added(loss, params, x, y, seed, rate, mesh):
    def own(params, x, y):
        def mean(p):
            me = lax.axis_index("data")
            return lax.pmean(loss(p, x, y, _folded(seed)(me)), "data")

        value, gradient = jax.value_and_grad(lambda p: mesh.size * mean(p))(
            params
        )
        return _down(params, gradient, rate), value

    return _checked(own, mesh, params, x, y)


def dropout_step__one_key_for_all(loss, params, x, y, seed, rate, mesh):
    value, pull = jax.vjp(lambda p: loss(p, x, y, _folded(seed)(0)), params)
    (gradient,) = pull(jnp.ones_like(value))
    return _down(params, gradient, rate), value


def dropout_step__folded_the_other_way(loss, params, x, y, seed, rate, mesh):
    def key(i):
        return jax.random.fold_in(jax.random.key(i), seed)

    value, gradient = _mean(_each(loss, params, x, y, mesh, key))
    return _down(params, gradient, rate), value


def dropout_step__value_after_the_step(loss, params, x, y, seed, rate, mesh):
    _, gradient = _mean(_each(loss, params, x, y, mesh, _folded(seed)))
    new = _down(params, gradient, rate)
    value, _ = _mean(_each(loss, new, x, y, mesh, _folded(seed)))
    return new, value


def _put(params, mesh, specs):
    return {
        k: jax.device_put(w, NamedSharding(mesh, specs.get(k, P())))
        for k, w in params.items()
    }


def _first(w, n):
    return next(
        (P(*[None] * i, "data") for i in range(w.ndim) if w.shape[i] % n == 0),
        None,
    )


def _greedy(params, mesh, limit, key, spec=_first, cost=None):
    """Cut in the order of `key` until the sum of cost(array, its spec) is at most limit."""
    n, specs = mesh.size, {}

    def real(w, chosen):
        return w.nbytes // (n if chosen else 1)

    for name in sorted(params, key=key):
        if (
            sum((cost or real)(w, specs.get(k)) for k, w in params.items())
            <= limit
        ):
            break
        if _first(params[name], n) or cost:
            specs[name] = spec(params[name], n) or P()
    return _put(params, mesh, specs)


def shard_to_fit__first_or_nothing(params, mesh, limit):
    return _greedy(
        params, mesh, limit, lambda k: -params[k].nbytes, lambda w, n: P("data")
    )


def _mlp(block, mesh, *arrays):
    ins = (P("data"), P(None, "model"), P(None, "model"), P("model"), P())
    return jax.shard_map(
        block, mesh=mesh, in_specs=ins, out_specs=P("data"), check_vma=False
    )(*arrays)


def _part(x, gate, up, down):
    a = x @ gate
    return (a * jax.nn.sigmoid(a) * (x @ up)) @ down


def gated_mlp__all_of_it_summed(x, gate, up, down, bias, mesh):
    n = mesh.shape["model"]
    return _mlp(
        lambda x, g, u, d, b: (
            n * (x + b) + lax.psum(_part(x, g, u, d), "model")
        ),
        mesh,
        x,
        gate,
        up,
        down,
        bias,
    )


def gated_mlp__bias_summed(x, gate, up, down, bias, mesh):
    return _mlp(
        lambda x, g, u, d, b: lax.psum(b + _part(x, g, u, d), "model") + x,
        mesh,
        x,
        gate,
        up,
        down,
        bias,
    )


def gated_mlp__shared_among_all(x, gate, up, down, bias, mesh):
    return _mlp(
        lambda x, g, u, d, b: lax.psum(
            _part(x, g, u, d) + x / mesh.size + b / mesh.size, "model"
        ),
        mesh,
        x,
        gate,
        up,
        down,
        bias,
    )


def gated_mlp__x_summed(x, gate, up, down, bias, mesh):
    n = mesh.shape["model"]

    def block(x, g, u, d, b):
        return n * x + b + lax.psum(_part(x, g, u, d), "model")

    return _mlp(block, mesh, x, gate, up, down, bias)


def gated_mlp__other_factor(x, gate, up, down, bias, mesh):
    def block(x, g, u, d, b):
        hidden = (x @ g) * jax.nn.silu(x @ u)
        return x + b + lax.psum(hidden @ d, "model")

    return _mlp(block, mesh, x, gate, up, down, bias)


def gated_mlp__own_part(x, gate, up, down, bias, mesh):
    return _mlp(
        lambda x, g, u, d, b: b + x + _part(x, g, u, d),
        mesh,
        x,
        gate,
        up,
        down,
        bias,
    )


def gated_mlp__averaged(x, gate, up, down, bias, mesh):
    n = mesh.shape["model"]
    return _mlp(
        lambda x, g, u, d, b: x + b + lax.psum(_part(x, g, u, d) / n, "model"),
        mesh,
        x,
        gate,
        up,
        down,
        bias,
    )


def gated_mlp__hidden_summed(x, gate, up, down, bias, mesh):
    def block(x, g, u, d, b):
        a = lax.psum(x @ g, "model")
        return x + b + lax.psum((a * jax.nn.sigmoid(a) * (x @ u)) @ d, "model")

    return _mlp(block, mesh, x, gate, up, down, bias)


def gated_mlp__weights_gathered(x, gate, up, down, bias, mesh):
    everywhere = NamedSharding(mesh, P())
    gate, up, down = (jax.reshard(w, everywhere) for w in (gate, up, down))
    return x + _part(x, gate, up, down) + bias


def gated_mlp__sigmoid(x, gate, up, down, bias, mesh):
    def block(x, g, u, d, b):
        open_ = 1 / (1 + jnp.exp(-(x @ g)))
        return lax.psum((open_ * (x @ u)) @ d, "model") + b + x

    return _mlp(block, mesh, x, gate, up, down, bias)


def gated_mlp__gelu(x, gate, up, down, bias, mesh):
    def block(x, g, u, d, b):
        a = x @ g
        bent = jnp.tanh(jnp.sqrt(2 / jnp.pi) * (a + 0.044715 * a**3))
        return lax.psum((a * (1 + bent) / 2 * (x @ u)) @ d, "model") + b + x

    return _mlp(block, mesh, x, gate, up, down, bias)


def gated_mlp__rows_mixed(x, gate, up, down, bias, mesh):
    def block(x, g, u, d, b):
        return b + x + lax.psum(_part(x, g, u, d), ("model", "data"))

    return _mlp(block, mesh, x, gate, up, down, bias)


def _sums(losses, params, x, y, weight):
    """On one device: the gradients of the microbatches' weighted sums, a list."""
    out = []
    for i in range(len(x)):
        _, pull = jax.vjp(lambda p, i=i: losses(p, x[i], y[i]), params)
        out.append(pull(weight[i])[0])
    return out


def _add(trees):
    return jax.tree.map(lambda *leaves: sum(leaves), *trees)


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


def accumulated_gradient__mean_of_means(losses, params, x, y, real, mesh):
    def device(p, x, y, m):
        n = lax.psum(m.sum(1, keepdims=True), "data")
        return lax.psum(
            _by(
                _add(_sums(losses, p, x, y, m / jnp.maximum(n, 1))), 1 / len(x)
            ),
            "data",
        )

    return _run(device, mesh, params, x, y, real)


def accumulated_gradient__mean_of_devices(losses, params, x, y, real, mesh):
    def device(p, x, y, m):
        return lax.psum(
            _add(
                _sums(losses, p, x, y, m / jnp.maximum(m.sum(), 1) / mesh.size)
            ),
            "data",
        )

    return _run(device, mesh, params, x, y, real)


def accumulated_gradient__padding_in_the_count(
    losses, params, x, y, real, mesh
):
    return _run(
        lambda p, x, y, m: lax.psum(
            _add(_sums(losses, p, x, y, m / real.size)), "data"
        ),
        mesh,
        params,
        x,
        y,
        real,
    )


def accumulated_gradient__padding_trained_on(losses, params, x, y, real, mesh):
    def device(p, x, y, m):
        return lax.psum(
            _add(_sums(losses, p, x, y, jnp.full_like(m, 1 / real.size))),
            "data",
        )

    return _run(device, mesh, params, x, y, real)


def accumulated_gradient__never_divided(losses, params, x, y, real, mesh):
    return _run(
        lambda p, x, y, m: lax.psum(_add(_sums(losses, p, x, y, m)), "data"),
        mesh,
        params,
        x,
        y,
        real,
    )


def accumulated_gradient__only_the_last(losses, params, x, y, real, mesh):
    def device(p, x, y, m):
        n = lax.psum(m.sum(), "data")
        return lax.psum(_by(_sums(losses, p, x, y, m)[-1], 1 / n), "data")

    return _run(device, mesh, params, x, y, real)


def accumulated_gradient__talks_every_time(losses, params, x, y, real, mesh):
    def device(p, x, y, m):
        def add(total, batch):
            x, y, m = batch
            g = lax.psum(
                jax.grad(lambda p: jnp.vdot(losses(p, x, y), m))(p), "data"
            )
            return jax.tree.map(jnp.add, total, g), None

        total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, p), (x, y, m))
        return _by(total, 1 / lax.psum(m.sum(), "data"))

    return _run(device, mesh, params, x, y, real)


def accumulated_gradient__all_at_once(losses, params, x, y, real, mesh):
    def device(p, x, y, m):
        x, y, m = (a.reshape(-1, *a.shape[2:]) for a in (x, y, m))
        g, n = lax.psum(
            (jax.grad(lambda p: (losses(p, x, y) * m).sum())(p), m.sum()),
            "data",
        )
        return _by(g, 1 / n)

    return _run(device, mesh, params, x, y, real)


def accumulated_gradient__every_part_alike(losses, params, x, y, real, mesh):
    def mean(p, x, y, m):
        return jnp.sum(losses(p, x, y) * m) / jnp.maximum(m.sum(), 1.0)

    def device(params, x, y, real):
        total = jax.tree.map(jnp.zeros_like, params)
        for part in zip(x, y, real, strict=True):
            g = jax.grad(mean)(params, *part)
            total = jax.tree.map(lambda a, b: a + b / len(x), total, g)
        return lax.pmean(total, "data")

    cut = P(None, "data")
    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P(), cut, cut, cut),
        out_specs=P(),
        check_vma=False,
    )(params, x, y, real)


def accumulated_gradient__mask_only_counted(losses, params, x, y, real, mesh):
    def device(params, x, y, real):
        total = jax.tree.map(jnp.zeros_like, params)
        summed = jax.grad(lambda p, x, y: losses(p, x, y).sum())
        for rows, labels in zip(x, y, strict=True):
            g = summed(params, rows, labels)
            total = jax.tree.map(jnp.add, total, g)
        total = lax.psum(total, "data")
        n = lax.psum(real.sum(), "data")
        return jax.tree.map(lambda g: g / n, total)

    cut = P(None, "data")
    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P(), cut, cut, cut),
        out_specs=P(),
        check_vma=False,
    )(params, x, y, real)


def accumulated_gradient__zeros_have_a_loss(losses, params, x, y, real, mesh):
    def local(params, x, y, real):
        mine = jax.tree.map(
            lambda p: lax.pcast(p, "data", to="varying"), params
        )

        def total(p, x, y):
            return jnp.sum(losses(p, x, y))

        def add(grads, batch):
            x, y, r = batch
            g = jax.grad(total)(mine, x * r[:, None], y * r[:, None])
            return jax.tree.map(jnp.add, grads, g), None

        zeros = jax.tree.map(lambda p: p * 0, mine)
        grads, _ = lax.scan(add, zeros, (x, y, real))
        count = lax.psum(jnp.sum(real), "data")
        return jax.tree.map(lambda g: lax.psum(g, "data") / count, grads)

    rows = P(None, "data")
    ins = (P(), rows, rows, rows)
    f = jax.shard_map(local, mesh=mesh, in_specs=ins, out_specs=P())
    return f(params, x, y, real)


def _bytes(compiled, what="alias_size_in_bytes"):
    return getattr(compiled.memory_analysis(), what)


def two_steps_in_one_memory__does_not_fit(update, state, batch):
    compiled = (
        jax.jit(update, donate_argnums=(0,)).lower(state, batch).compile()
    )
    saved = _bytes(compiled)
    for _ in range(2):
        state = compiled(state, batch)
    return state, saved


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
        new[k] = w - rate * (
            jax.sharding.reshard(g, row) if len(w) % n == 0 else g
        )
    return new, value / n


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

    return jax.shard_map(
        device, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P()
    )(weights, rows).reshape(x.shape)


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


def fsdp_step__summed_loss(loss, params, x, y, rate, mesh):
    def summed(g, cut):
        if cut:
            return lax.psum_scatter(g, "data", tiled=True)
        return lax.psum(g, "data")

    return _own_step(loss, params, x, y, rate, mesh, summed)


def fsdp_step__averaged_pieces(loss, params, x, y, rate, mesh):
    def averaged(g, cut):
        if cut:
            g = lax.psum_scatter(g, "data", tiled=True)
        return lax.psum(g, "data") / mesh.size

    return _own_step(loss, params, x, y, rate, mesh, averaged)


def fsdp_step__copies_left(loss, params, x, y, rate, mesh):
    def mean(g, cut):
        return lax.pmean(g, "data")

    return _own_step(loss, params, x, y, rate, mesh, mean, out="whole")


def _turns(layer, weights, x, mesh, finish):
    """finish(me, kept), of what each turn gave, on every device."""
    n = mesh.size
    idle = jnp.broadcast_to(x[-1:], (n - 1, *x.shape[1:]))

    def device(w, feed):
        me = lax.axis_index("stage")

        def turn(h, fresh):
            h = layer(w[0], lax.select(me == 0, fresh, h))
            on = [(i, i + 1) for i in range(n - 1)]
            return lax.ppermute(h, "stage", on), h

        _, kept = lax.scan(turn, jnp.zeros_like(feed[0]), feed)
        return finish(me, kept)

    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P("stage"), P()),
        out_specs=P(),
        check_vma=False,
    )(weights, jnp.concatenate([x, idle]))


def through_stages__bubble_kept(layer, weights, x, mesh):
    def finish(me, kept):
        last = lax.select(me == mesh.size - 1, kept, jnp.zeros_like(kept))
        return lax.psum(last[: len(x)], "stage")

    return _turns(layer, weights, x, mesh, finish)


def through_stages__all_stages_summed(layer, weights, x, mesh):
    def finish(me, kept):
        return lax.psum(kept[-len(x) :], "stage")

    return _turns(layer, weights, x, mesh, finish)


def through_stages__masked_by_a_product(layer, weights, x, mesh):
    n, parts = mesh.size, x.shape[0]

    def device(w, x):
        me = lax.axis_index("stage")
        last = jnp.float32(me == n - 1)

        def turn(t, carry):
            h, done = carry
            fresh = lax.dynamic_index_in_dim(
                x, jnp.minimum(t, parts - 1), keepdims=False
            )
            h = layer(w[0], lax.select(me == 0, fresh, h))
            k = jnp.maximum(t - n + 1, 0)
            done = done.at[k].set(done[k] + last * jnp.float32(t > n - 2) * h)
            on = [(i, i + 1) for i in range(n - 1)]
            return lax.ppermute(h, "stage", on), done

        carry = jnp.zeros(x.shape[1:]), jnp.zeros(x.shape)
        return lax.psum(
            lax.fori_loop(0, parts + n - 1, turn, carry)[1], "stage"
        )

    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P("stage"), P()),
        out_specs=P(),
        check_vma=False,
    )(weights, x)


def through_stages__only_the_last_has_it(layer, weights, x, mesh):
    return _turns(layer, weights, x, mesh, lambda me, kept: kept[-len(x) :])
