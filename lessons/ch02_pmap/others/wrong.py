"""Mistakes of ch02_pmap once more, spelled differently, where that may tell: the name must be the same."""

import functools

import jax
import jax.numpy as jnp


def parallel_predict__params_mapped(predict, params, batch, num_devices):
    return jax.pmap(predict, in_axes=(0, 0))(
        params, jnp.stack(jnp.split(batch, num_devices, axis=1))
    )


def parallel_predict__vmap(predict, params, batch, num_devices):
    parts = jnp.split(batch, num_devices, axis=1)
    return jnp.stack([predict(params, part) for part in parts])


def parallel_predict__every_nth_sequence(predict, params, batch, num_devices):
    dealt = [batch[:, i::num_devices] for i in range(num_devices)]
    return jax.pmap(predict, in_axes=(None, 0))(params, jnp.stack(dealt))


def parallel_predict__not_cut(predict, params, batch, num_devices):
    run = jax.pmap(lambda x: predict(params, x), in_axes=1)
    return run(batch)


def parallel_predict__all_devices(predict, params, batch, num_devices):
    cut = jnp.stack(jnp.split(batch, len(jax.devices()), axis=1))
    return jax.pmap(functools.partial(predict, params))(cut)


def parallel_predict__axes_swapped(predict, params, batch, num_devices):
    steps, _, features = batch.shape
    cut = batch.reshape(steps, num_devices, -1, features)
    return jax.pmap(lambda x, p: predict(p, x), in_axes=(None, 1))(cut, params)


def parallel_predict__steps_cut(predict, params, batch, num_devices):
    cut = jnp.stack(jnp.split(batch, num_devices))
    return jax.pmap(functools.partial(predict, params))(cut)


def parallel_predict__steps_mapped(predict, params, batch, num_devices):
    cut = jnp.stack(jnp.split(batch, num_devices, axis=1), axis=1)
    return jax.pmap(functools.partial(predict, params))(cut)


def parallel_predict__run_together(predict, params, batch, num_devices):
    steps, _, features = batch.shape
    cut = batch.reshape(-1, batch.shape[1] // num_devices, features)
    parts = jnp.split(cut, num_devices)
    return jax.pmap(functools.partial(predict, params))(jnp.stack(parts))


def parallel_predict__stacked_behind_steps(predict, params, batch, num_devices):
    cut = jnp.stack(jnp.split(batch, num_devices, axis=1))
    run = jax.pmap(functools.partial(predict, params), out_axes=1)
    return run(cut)


def parallel_predict__steps_and_sequences_swapped(
    predict, params, batch, num_devices
):
    sequences = jnp.einsum("snf->nsf", batch)
    cut = jnp.stack(jnp.split(sequences, num_devices))
    return jax.pmap(functools.partial(predict, params))(cut)


def train_step__no_axis_name(loss, params, inputs, targets, rate, limit):
    def step(x, y):
        g = jax.lax.pmean(jax.grad(loss)(params, x, y), "batch")
        norm = jnp.sqrt(sum(jnp.sum(d * d) for d in g.values()))
        scale = rate * limit / jnp.maximum(norm, limit)
        return {k: params[k] - scale * g[k] for k in params}

    return jax.pmap(step, out_axes=None)(inputs, targets)


def train_step__python_if(loss, params, inputs, targets, rate, limit):
    def step(x, y):
        g = jax.lax.pmean(jax.grad(loss)(params, x, y), "i")
        norm = jnp.sqrt(sum(jnp.sum(d * d) for d in g.values()))
        scale = rate / max(1, norm / limit)
        return {k: params[k] - scale * g[k] for k in params}

    return jax.pmap(step, "i", out_axes=None)(inputs, targets)


def train_step__each_device_clips(loss, params, inputs, targets, rate, limit):
    def step(x, y):
        g = jax.grad(loss)(params, x, y)
        norm = jnp.sqrt(sum(jnp.sum(d * d) for d in g.values()))
        g = {
            k: jnp.where(norm > limit, d * limit / norm, d)
            for k, d in g.items()
        }
        return {k: params[k] - rate * jax.lax.pmean(g[k], "i") for k in params}

    return jax.pmap(step, "i", out_axes=None)(inputs, targets)


def masked_mean__mean_of_means(x, mask):
    means = jax.pmap(lambda x, m: jnp.sum(x * m) / jnp.sum(m))(x, mask)
    return jax.pmap(lambda v: jax.lax.pmean(v, "i"), "i", out_axes=None)(means)


def masked_mean__padding_counted(x, mask):
    def mean(x, m):
        return jax.lax.psum((x * m).sum(), "i") / (
            x.size * jax.lax.psum(1, "i")
        )

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def masked_mean__own_count(x, mask):
    def mean(x, m):
        return jax.lax.psum(jnp.vdot(x, m), "i") / jnp.count_nonzero(m)

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def masked_mean__empty_skipped(x, mask):
    def mean(x, m):
        own = jnp.where(
            m.sum() > 0, (x * m).sum() / jnp.where(m.sum() > 0, m.sum(), 1), 0
        )
        return jax.lax.psum(own, "i") / jax.lax.psum(1, "i")

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def masked_mean__empty_divides(x, mask):
    def mean(x, m):
        own = jnp.vdot(x, m) / m.sum()
        return jax.lax.psum(own * m.sum(), "i") / jax.lax.psum(m.sum(), "i")

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def masked_mean__mixed_up(x, mask):
    def mean(x, m):
        return (
            jax.lax.psum(jnp.vdot(x, m) / x.shape[0] * x.shape[0], "i")
            / jax.lax.psum(m.sum(), "i")
            / len(mask)
        )

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def masked_mean__stacked(x, mask):
    def mean(x, m):
        return jax.lax.psum(jnp.vdot(x, m), "i") / jax.lax.psum(
            jnp.count_nonzero(m), "i"
        )

    return jax.pmap(mean, "i")(x, mask)


def masked_mean__first_copy(x, mask):
    return masked_mean__stacked(x, mask)[0]


def masked_mean__gathers(x, mask):
    def mean(x, m):
        everything = jax.lax.all_gather(jnp.stack([x, m]), "i", axis=1)
        return (everything[0] * everything[1]).sum() / everything[1].sum()

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def masked_mean__all_on_each(x, mask):
    mesh = jax.make_mesh((x.shape[0],), ("copies",))
    mean = jax.jit(
        lambda x, mask: jnp.vdot(x, mask) / mask.sum(),
        out_shardings=jax.NamedSharding(mesh, jax.P()),
    )
    return mean(x, mask)


def masked_mean__one_device(x, mask):
    return jnp.average(x, weights=mask)


def masked_mean__mask_only_counts(x, mask):
    def mean(x, m):
        both = jax.lax.psum(jnp.array([jnp.sum(x), jnp.sum(m)]), "i")
        return both[0] / both[1]

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def masked_mean__devices_for_entries(x, mask):
    def mean(x, m):
        return jax.lax.psum(jnp.vdot(x, m), "i") / len(jax.devices())

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def masked_mean__empty_left_out(x, mask):
    def mean(x, m):
        n = jnp.count_nonzero(m)
        own = jnp.vdot(x, m) / jnp.where(n > 0, n, 1)
        devices = jax.lax.psum(jnp.where(n > 0, 1, 0), "i")
        return jax.lax.psum(own, "i") / devices

    return jax.pmap(mean, "i", out_axes=None)(x, mask)


def masked_mean__empty_counts_as_one(x, mask):
    def mean(x, mask):
        count = jnp.maximum(mask.sum(), 1)
        total, count = jax.lax.psum(((x * mask).sum(), count), "batch")
        return total / count

    return jax.pmap(mean, "batch", out_axes=None)(x, mask)


def mixed_predict__all_shared(predict, params, inputs):
    return jax.pmap(lambda x: predict(params, x))(inputs)


def mixed_predict__all_mapped(predict, params, inputs):
    return jax.pmap(predict, in_axes=(0, 0))(params, inputs)


def mixed_predict__by_shape(predict, params, inputs):
    n = len(inputs)
    cut = {
        k: {name: a for name, a in d.items() if len(a) == n}
        for k, d in params.items()
    }
    rest = {
        k: {name: a for name, a in d.items() if len(a) != n}
        for k, d in params.items()
    }
    return jax.pmap(lambda p, x: predict({k: p[k] | rest[k] for k in p}, x))(
        cut, inputs
    )


def mixed_predict__list(predict, params, inputs):
    axes = {
        k: {n: [None, 0][n.startswith("own_")] for n in d}
        for k, d in params.items()
    }
    return jax.pmap(predict, in_axes=list((axes, 0)))(params, inputs)
