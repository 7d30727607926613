"""Known wrong answers of ch02_pmap, as code; words.toml explains them."""

import jax
import jax.numpy as jnp


def _cut(batch, num_devices):
    steps, sequences, features = batch.shape
    each = sequences // num_devices
    return batch.reshape(steps, num_devices, each, features)


def parallel_predict__params_mapped(predict, params, batch, num_devices):
    return jax.pmap(predict)(params, _cut(batch, num_devices).swapaxes(0, 1))


def parallel_predict__vmap(predict, params, batch, num_devices):
    cut = _cut(batch, num_devices)
    return jax.vmap(predict, in_axes=(None, 1))(params, cut)


def parallel_predict__every_nth_sequence(predict, params, batch, num_devices):
    steps, _, features = batch.shape
    cut = batch.reshape(steps, -1, num_devices, features)
    return jax.pmap(predict, in_axes=(None, 2))(params, cut)


def parallel_predict__not_cut(predict, params, batch, num_devices):
    return jax.pmap(predict, in_axes=(None, 1))(params, batch)


def parallel_predict__all_devices(predict, params, batch, num_devices):
    cut = _cut(batch, jax.local_device_count())
    return jax.pmap(predict, in_axes=(None, 1))(params, cut)


def parallel_predict__axes_swapped(predict, params, batch, num_devices):
    cut = _cut(batch, num_devices)
    return jax.pmap(predict, in_axes=(1, None))(params, cut)


def parallel_predict__steps_cut(predict, params, batch, num_devices):
    steps, sequences, features = batch.shape
    each = steps // num_devices
    cut = batch.reshape(num_devices, each, sequences, features)
    return jax.pmap(predict, in_axes=(None, 0))(params, cut)


def parallel_predict__steps_mapped(predict, params, batch, num_devices):
    cut = _cut(batch, num_devices)
    return jax.pmap(predict, in_axes=(None, 0))(params, cut)


def parallel_predict__run_together(predict, params, batch, num_devices):
    steps, sequences, features = batch.shape
    each = sequences // num_devices
    cut = batch.reshape(num_devices, steps, each, features)
    return jax.pmap(predict, in_axes=(None, 0))(params, cut)


def parallel_predict__stacked_behind_steps(predict, params, batch, num_devices):
    cut = _cut(batch, num_devices)
    return jax.pmap(predict, in_axes=(None, 1), out_axes=1)(params, cut)


def parallel_predict__steps_and_sequences_swapped(
    predict, params, batch, num_devices
):
    steps, sequences, features = batch.shape
    each = sequences // num_devices
    cut = batch.swapaxes(0, 1).reshape(num_devices, each, steps, features)
    return jax.pmap(predict, in_axes=(None, 0))(params, cut)


def _norm(g):
    return jnp.sqrt(sum((d**2).sum() for d in g.values()))


def _scaled(g, scale):
    return jax.tree.map(lambda d: d * scale, g)


def _clipped(g, limit):
    return _scaled(g, jnp.minimum(1, limit / _norm(g)))


def _averaged(g):
    return jax.lax.pmean(g, "batch")


def _step(loss, params, inputs, targets, rate, turn, **options):
    """Each device's own gradient is turned into the one that it takes."""

    def step(params, inputs, targets):
        g = turn(jax.grad(loss)(params, inputs, targets))
        return jax.tree.map(lambda p, d: p - rate * d, params, g)

    options = {
        "in_axes": (None, 0, 0),
        "out_axes": None,
        "axis_name": "batch",
    } | options
    return jax.pmap(step, **options)(params, inputs, targets)


def train_step__no_pmean(loss, params, inputs, targets, rate, limit):
    return _step(
        loss, params, inputs, targets, rate, lambda g: _clipped(g, limit)
    )


def train_step__limit_ignored(loss, params, inputs, targets, rate, limit):
    return _step(loss, params, inputs, targets, rate, _averaged)


def train_step__each_device_clips(loss, params, inputs, targets, rate, limit):
    def turn(g):
        return _averaged(_clipped(g, limit))

    return _step(loss, params, inputs, targets, rate, turn)


def train_step__psum(loss, params, inputs, targets, rate, limit):
    def turn(g):
        return _clipped(jax.lax.psum(g, "batch"), limit)

    return _step(loss, params, inputs, targets, rate, turn)


def train_step__norm_of_the_sum(loss, params, inputs, targets, rate, limit):
    def turn(g):
        norm = _norm(jax.lax.psum(g, "batch"))
        return _scaled(_averaged(g), jnp.minimum(1, limit / norm))

    return _step(loss, params, inputs, targets, rate, turn)


def train_step__norms_averaged(loss, params, inputs, targets, rate, limit):
    def turn(g):
        norm = _averaged(_norm(g))
        return _scaled(_averaged(g), jnp.minimum(1, limit / norm))

    return _step(loss, params, inputs, targets, rate, turn)


def train_step__own_norm(loss, params, inputs, targets, rate, limit):
    def turn(g):
        return _scaled(_averaged(g), jnp.minimum(1, limit / _norm(g)))

    return _step(loss, params, inputs, targets, rate, turn)


def train_step__copies_added_up(loss, params, inputs, targets, rate, limit):
    def turn(g):
        g = _averaged(g)
        norm = jnp.sqrt(jax.lax.psum(_norm(g) ** 2, "batch"))
        return _scaled(g, jnp.minimum(1, limit / norm))

    return _step(loss, params, inputs, targets, rate, turn)


def train_step__array_by_array(loss, params, inputs, targets, rate, limit):
    def turn(g):
        g = _averaged(g)
        return {k: _clipped({k: d}, limit)[k] for k, d in g.items()}

    return _step(loss, params, inputs, targets, rate, turn)


def train_step__number_by_number(loss, params, inputs, targets, rate, limit):
    def turn(g):
        return jax.tree.map(lambda d: jnp.clip(d, -limit, limit), _averaged(g))

    return _step(loss, params, inputs, targets, rate, turn)


def train_step__no_root(loss, params, inputs, targets, rate, limit):
    def turn(g):
        g = _averaged(g)
        return _scaled(g, jnp.minimum(1, limit / _norm(g) ** 2))

    return _step(loss, params, inputs, targets, rate, turn)


def train_step__always_scaled(loss, params, inputs, targets, rate, limit):
    def turn(g):
        g = _averaged(g)
        return _scaled(g, limit / _norm(g))

    return _step(loss, params, inputs, targets, rate, turn)


def train_step__step_clipped(loss, params, inputs, targets, rate, limit):
    def turn(g):
        return _clipped(_scaled(_averaged(g), rate), limit)

    return _step(loss, params, inputs, targets, 1, turn)


def train_step__python_if(loss, params, inputs, targets, rate, limit):
    def turn(g):
        g = _averaged(g)
        return _clipped(g, limit) if _norm(g) > limit else g

    return _step(loss, params, inputs, targets, rate, turn)


def _mean_clipped(g, limit):
    return _clipped(_averaged(g), limit)


def train_step__stacked(loss, params, inputs, targets, rate, limit):
    def turn(g):
        return _mean_clipped(g, limit)

    return _step(loss, params, inputs, targets, rate, turn, out_axes=0)


def train_step__uphill(loss, params, inputs, targets, rate, limit):
    return _step(
        loss, params, inputs, targets, -rate, lambda g: _mean_clipped(g, limit)
    )


def train_step__one_device(loss, params, inputs, targets, rate, limit):
    rows = [a.reshape(-1, a.shape[-1]) for a in (inputs, targets)]
    g = _clipped(jax.grad(loss)(params, *rows), limit)
    return jax.tree.map(lambda p, d: p - rate * d, params, g)


def train_step__rate_ignored(loss, params, inputs, targets, rate, limit):
    return _step(
        loss, params, inputs, targets, 0.1, lambda g: _mean_clipped(g, limit)
    )


def train_step__no_axis_name(loss, params, inputs, targets, rate, limit):
    def step(params, inputs, targets):
        g = jax.lax.pmean(jax.grad(loss)(params, inputs, targets), "batch")
        g = _clipped(g, limit)
        return jax.tree.map(lambda p, d: p - rate * d, params, g)

    run = jax.pmap(step, in_axes=(None, 0, 0), out_axes=None)
    return run(params, inputs, targets)


def _mean(f, x, mask):
    return jax.pmap(f, axis_name="batch", out_axes=None)(x, mask)


def masked_mean__mean_of_means(x, mask):
    return _mean(
        lambda x, m: jax.lax.pmean((x * m).sum() / m.sum(), "batch"), x, mask
    )


def masked_mean__padding_counted(x, mask):
    return _mean(lambda x, m: jax.lax.pmean((x * m).mean(), "batch"), x, mask)


def masked_mean__own_count(x, mask):
    return _mean(
        lambda x, m: jax.lax.psum((x * m).sum(), "batch") / m.sum(), x, mask
    )


def masked_mean__empty_skipped(x, mask):
    def mean(x, m):
        local = (x * m).sum() / jnp.maximum(m.sum(), 1)
        return jax.lax.pmean(local, "batch")

    return _mean(mean, x, mask)


def masked_mean__empty_divides(x, mask):
    def mean(x, m):
        weight = m.sum() / jax.lax.psum(m.sum(), "batch")
        return jax.lax.psum(weight * ((x * m).sum() / m.sum()), "batch")

    return _mean(mean, x, mask)


def masked_mean__mixed_up(x, mask):
    def mean(x, m):
        total = jax.lax.pmean((x * m).sum(), "batch")
        return total / jax.lax.psum(m.sum(), "batch")

    return _mean(mean, x, mask)


def _right(x, m):
    total = jax.lax.psum((x * m).sum(), "batch")
    return total / jax.lax.psum(m.sum(), "batch")


def masked_mean__stacked(x, mask):
    return jax.pmap(_right, axis_name="batch")(x, mask)


def masked_mean__first_copy(x, mask):
    return jax.pmap(_right, axis_name="batch")(x, mask)[0]


def masked_mean__gathers(x, mask):
    def mean(x, m):
        x, m = jax.lax.all_gather((x, m), "batch")
        return (x * m).sum() / m.sum()

    return _mean(mean, x, mask)


def masked_mean__all_on_each(x, mask):
    def mean(x, m):
        total, count = jax.lax.psum(((x * m).sum(), m.sum()), "batch")
        return total / count  # both are n times too large

    several = jax.make_mesh((len(x),), ("batch",))
    everywhere = {"in_specs": jax.P(), "out_specs": jax.P()}
    return jax.shard_map(mean, mesh=several, **everywhere)(x, mask)


def masked_mean__one_device(x, mask):
    return (x * mask).sum() / mask.sum()


def masked_mean__mask_only_counts(x, mask):
    def mean(x, m):
        total, count = jax.lax.psum((x.sum(), m.sum()), "batch")
        return total / count

    return _mean(mean, x, mask)


def masked_mean__devices_for_entries(x, mask):
    def mean(x, m):
        return jax.lax.psum((x * m).sum(), "batch") / jax.device_count()

    return _mean(mean, x, mask)


def masked_mean__empty_left_out(x, mask):
    def mean(x, m):
        local = (x * m).sum() / jnp.maximum(m.sum(), 1)
        total, some = jax.lax.psum((local, (m.sum() > 0) * 1.0), "batch")
        return total / some

    return _mean(mean, x, mask)


def masked_mean__empty_counts_as_one(x, mask):
    def mean(x, m):
        rows = jnp.maximum(m.sum(), 1)
        total, count = jax.lax.psum(((x * m).sum(), rows), "batch")
        return total / count

    return _mean(mean, x, mask)


def mixed_predict__all_shared(predict, params, inputs):
    return jax.pmap(predict, in_axes=(None, 0))(params, inputs)


def mixed_predict__all_mapped(predict, params, inputs):
    return jax.pmap(predict)(params, inputs)


def mixed_predict__by_shape(predict, params, inputs):
    devices = inputs.shape[0]
    axes = jax.tree.map(lambda p: 0 if p.shape[0] == devices else -1, params)
    axes = {
        k: {n: None if a else 0 for n, a in d.items()} for k, d in axes.items()
    }
    return jax.pmap(predict, in_axes=(axes, 0))(params, inputs)


def mixed_predict__list(predict, params, inputs):
    axes = {
        k: {n: 0 if n.startswith("own_") else None for n in d}
        for k, d in params.items()
    }
    return jax.pmap(predict, in_axes=[axes, 0])(params, inputs)


def mixed_predict__vmap(predict, params, inputs):
    axes = {
        k: {n: 0 if n.startswith("own_") else None for n in d}
        for k, d in params.items()
    }
    return jax.vmap(predict, in_axes=(axes, 0))(params, inputs)
