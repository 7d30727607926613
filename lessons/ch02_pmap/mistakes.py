"""Known wrong answers of ch02_pmap, as code; words.toml explains them."""

import jax
import jax.numpy as jnp


def parallel_predict__params_mapped(predict, params, batch, num_devices):
    rows, features = batch.shape
    cut = batch.reshape(num_devices, rows // num_devices, features)
    return jax.pmap(predict)(params, cut)


def parallel_predict__vmap(predict, params, batch, num_devices):
    cut = batch.reshape(num_devices, -1, batch.shape[1])
    return jax.vmap(predict, in_axes=(None, 0))(params, cut)


def parallel_predict__every_nth_row(predict, params, batch, num_devices):
    cut = batch.reshape(-1, num_devices, batch.shape[1]).swapaxes(0, 1)
    return jax.pmap(predict, in_axes=(None, 0))(params, cut)


def parallel_predict__not_cut(predict, params, batch, num_devices):
    return jax.pmap(predict, in_axes=(None, 0))(params, batch)


def parallel_predict__all_devices(predict, params, batch, num_devices):
    cut = batch.reshape(jax.local_device_count(), -1, batch.shape[1])
    return jax.pmap(predict, in_axes=(None, 0))(params, cut)


def parallel_predict__axes_swapped(predict, params, batch, num_devices):
    cut = batch.reshape(num_devices, -1, batch.shape[1])
    return jax.pmap(predict, in_axes=(0, None))(params, cut)


def _step(loss, params, inputs, targets, rate, average, **options):
    def step(params, inputs, targets):
        g = average(jax.grad(loss)(params, inputs, targets))
        return jax.tree.map(lambda p, d: p - rate * d, params, g)

    options = {"in_axes": (None, 0, 0), "out_axes": None} | options
    return jax.pmap(step, axis_name="batch", **options)(params, inputs, targets)


def train_step__no_pmean(loss, params, inputs, targets, rate):
    return _step(loss, params, inputs, targets, rate, lambda g: g)


def train_step__psum(loss, params, inputs, targets, rate):
    return _step(
        loss, params, inputs, targets, rate, lambda g: jax.lax.psum(g, "batch")
    )


def train_step__stacked(loss, params, inputs, targets, rate):
    return _step(
        loss,
        params,
        inputs,
        targets,
        rate,
        lambda g: jax.lax.pmean(g, "batch"),
        out_axes=0,
    )


def train_step__uphill(loss, params, inputs, targets, rate):
    return _step(
        loss,
        params,
        inputs,
        targets,
        -rate,
        lambda g: jax.lax.pmean(g, "batch"),
    )


def train_step__one_device(loss, params, inputs, targets, rate):
    rows = [a.reshape(-1, a.shape[-1]) for a in (inputs, targets)]
    g = jax.grad(loss)(params, *rows)
    return jax.tree.map(lambda p, d: p - rate * d, params, g)


def train_step__rate_ignored(loss, params, inputs, targets, rate):
    def average(g):
        return jax.lax.pmean(g, "batch")

    return _step(loss, params, inputs, targets, 0.1, average)


def train_step__no_axis_name(loss, params, inputs, targets, rate):
    def step(params, inputs, targets):
        g = jax.lax.pmean(jax.grad(loss)(params, inputs, targets), "batch")
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
