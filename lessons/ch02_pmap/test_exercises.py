"""The checks of ch02_pmap: inputs drawn afresh, the oracle is NumPy."""

import jax.numpy as jnp
import numpy as np

from grader import Budget, array, normal, sent

SIZES = [
    (8, 4, 10, 5),
    (4, 6, 3, 2),
]  # devices, rows a device, features, outputs


def predict(params, inputs):
    return inputs @ params["w"] + params["b"]


def loss(params, inputs, targets):
    return jnp.mean((predict(params, inputs) - targets) ** 2)


def weights(rng, features, outputs):
    return {"w": normal(rng, features, outputs), "b": normal(rng, outputs)}


def running_mean(params, inputs):
    """Each step's output is the mean of what the steps up to it give."""
    each = predict(params, inputs)
    steps = jnp.arange(1, len(each) + 1, dtype=each.dtype)
    return jnp.cumsum(each, axis=0) / steps[:, None, None]


def test_parallel_predict(check):
    def cases(rng):
        drawn = []
        # devices, steps, sequences a device, features, outputs
        for devices, steps, each, features, outputs in (
            (8, 8, 2, 10, 5),  # the steps could be taken for devices
            (4, 8, 6, 3, 2),  # and could be cut, as the sequences could by 8
        ):
            params = weights(rng, features, outputs)
            batch = normal(rng, steps, devices * each, features)
            drawn.append((running_mean, params, batch, devices))
        return drawn

    def oracle(predict, params, batch, devices):
        w, b, batch = (np.asarray(a) for a in (params["w"], params["b"], batch))
        means = np.cumsum(batch @ w + b, axis=0)
        means /= np.arange(1, len(batch) + 1)[:, None, None]
        return np.stack(np.split(means, devices, axis=1))

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        on_device=True,
        work=True,
    )


def gradient(params, inputs, targets):
    """Of `loss` over all rows, in NumPy."""
    w, b, x, y = (
        np.asarray(a, np.float64)
        for a in (params["w"], params["b"], inputs, targets)
    )
    x, y = x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1])
    error = 2 * (x @ w + b - y) / y.size  # derivative of the mean of squares
    return {"w": x.T @ error, "b": error.sum(0)}


def norm(g):
    return float(np.sqrt(sum((d**2).sum() for d in g.values())))


def test_train_step(check):
    def cases(rng):
        drawn = []
        # Limits below the norm, just above it, and far above it.
        parts = (0.1, 0.2), (1.1, 1.3), (5, 6)
        for sizes, part in zip((*SIZES, SIZES[1]), parts, strict=True):
            devices, rows, features, outputs = sizes
            params = weights(rng, features, outputs)
            inputs = normal(rng, devices, rows, features)
            # Half of the devices pull the other way: most gradients of single
            # devices have a larger norm than their average, and than a limit
            # just above.
            pull = np.where(np.arange(devices) % 2, -6, 12)[:, None, None]
            targets = array(rng.normal(size=(devices, rows, outputs)) + pull)
            whole = norm(gradient(params, inputs, targets))
            rate = float(rng.uniform(0.3, 0.9))
            limit = float(whole * rng.uniform(*part))
            drawn.append((loss, params, inputs, targets, rate, limit))
        return drawn

    def oracle(loss, params, inputs, targets, rate, limit):
        g = gradient(params, inputs, targets)
        step = rate * min(1, limit / norm(g))
        new = {k: np.asarray(params[k]) - step * d for k, d in g.items()}
        return {k: v.astype(np.float32) for k, v in new.items()}

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        work=True,
        tolerance=1e-4,
    )


def test_masked_mean(check):
    def cases(rng):
        drawn = []
        # Many rows, so that reading them is most of the work.
        for devices, rows in ((8, 40), (4, 60)):
            real = rng.integers(1, rows, devices)
            real[0] = rows  # one full device, so that the counts differ
            if devices == 4:
                real[1] = 0  # and one with nothing but padding
            mask = np.arange(rows) < real[:, None]
            x = rng.normal(size=(devices, rows)) + np.arange(devices)[:, None]
            drawn.append((array(x), array(mask)))
        return drawn

    def oracle(x, mask):
        return np.float32(
            np.asarray(x)[np.asarray(mask) == 1].mean(dtype=np.float64)
        )

    def budget(x, mask):
        return Budget({"all-reduce"}, sent("all-reduce", 8, len(x)))

    check(
        cases,
        oracle=oracle,
        how="jit",
        budget=budget,
        work=True,
        compare=("value", "placement"),
        tolerance=1e-4,
    )


def mixed(params, inputs):
    first, second = params["first"], params["own_second"]
    hidden = inputs @ first["w"] + first["own_b"] + first["owner"]
    hidden = hidden / len(first["own_b"])  # which is a device's own: a vector
    return hidden * second["own_scale"] @ second["down_own_w"]


def test_mixed_predict(check):
    def cases(rng):
        drawn = []
        for devices, rows, _, outputs in SIZES:
            first = {
                "w": normal(rng, devices, outputs),  # shared, although it could
                "own_b": normal(rng, devices, outputs),
                "owner": normal(
                    rng, outputs
                ),  # shared, whatever its name suggests
            }
            second = {  # no array: its name says nothing of what is in it
                "own_scale": normal(rng, devices, outputs),
                "down_own_w": normal(rng, outputs, 3),
            }
            inputs = normal(rng, devices, rows, devices)
            drawn.append(
                (mixed, {"first": first, "own_second": second}, inputs)
            )
        return drawn

    def oracle(predict, params, inputs):
        p = {
            k: {n: np.asarray(a) for n, a in d.items()}
            for k, d in params.items()
        }
        first, second = p["first"], p["own_second"]
        hidden = np.asarray(inputs) @ first["w"] + first["own_b"][:, None]
        hidden = (hidden + first["owner"]) / first["own_b"].shape[1]
        hidden = hidden * second["own_scale"][:, None]
        return hidden @ second["down_own_w"]

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        work=True,
        tolerance=1e-4,
    )
