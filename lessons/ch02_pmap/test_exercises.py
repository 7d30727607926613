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


def test_parallel_predict(check):
    def cases(rng):
        return [
            (
                predict,
                weights(rng, features, outputs),
                normal(rng, devices * rows, features),
                devices,
            )
            for devices, rows, features, outputs in SIZES
        ]

    def oracle(predict, params, batch, devices):
        w, b, batch = (np.asarray(a) for a in (params["w"], params["b"], batch))
        return (batch @ w + b).reshape(devices, -1, w.shape[1])

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        on_device=True,
        work=True,
    )


def test_train_step(check):
    def cases(rng):
        return [
            (
                loss,
                weights(rng, features, outputs),
                normal(rng, devices, rows, features),
                normal(rng, devices, rows, outputs),
                float(rng.uniform(0.1, 0.9)),
            )
            for devices, rows, features, outputs in SIZES
        ]

    def oracle(loss, params, inputs, targets, rate):
        w, b, x, y = (
            np.asarray(a, np.float64)
            for a in (params["w"], params["b"], inputs, targets)
        )
        x, y = x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1])
        error = (
            2 * (x @ w + b - y) / y.size
        )  # derivative of the mean of squares
        new = {"w": w - rate * x.T @ error, "b": b - rate * error.sum(0)}
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
        for devices, rows in ((8, 4), (4, 6)):
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
