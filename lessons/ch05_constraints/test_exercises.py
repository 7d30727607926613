"""The checks of ch05_constraints; budgets in bytes that a device sends."""

import jax
import numpy as np
from jax.sharding import AxisType

from grader import Budget, fitting, normal, place, sent

SIZES = (2, 4), (4, 2), (2, 2)


def mesh(sizes, kind=AxisType.Auto):
    sizes = fitting(*sizes)
    devices = jax.devices()[: sizes[0] * sizes[1]]
    return jax.make_mesh(
        sizes, ("x", "y"), axis_types=(kind,) * 2, devices=devices
    )


def test_spread_sums(check):
    def cases(rng):
        drawn = []
        for sizes in SIZES:
            m = mesh(sizes)
            rows, columns = (8 * int(k) for k in rng.integers(1, 4, 2))
            drawn.append((place(normal(rng, rows, columns), m, "x", "y"), m))
        return drawn

    check(
        cases,
        oracle=lambda x, mesh: np.asarray(x).sum(axis=0),
        compare=("value", "placement"),
        how="jit",
        budget=lambda x, mesh: Budget(
            {"all-reduce", "reduce-scatter"},
            sent(
                "all-reduce",
                4 * x.shape[1] // mesh.shape["y"],
                mesh.shape["x"],
            ),
        ),
    )


def test_running_totals(check):
    def cases(rng):
        drawn = []
        for sizes in SIZES:
            m = mesh(sizes)
            rows, columns = (8 * int(k) for k in rng.integers(1, 4, 2))
            drawn.append((place(normal(rng, rows, columns), m, "x", "y"), m))
        return drawn

    check(
        cases,
        oracle=lambda x, mesh: np.cumsum(np.asarray(x), axis=0),
        compare=("value", "placement"),
        how="jit",
        budget=lambda x, mesh: Budget(
            {"all-to-all"},
            sent("all-to-all", x.nbytes // mesh.size, mesh.shape["x"]),
        ),
        tolerance=1e-4,
    )


def test_keep_the_batch_apart(check):
    def cases(rng):
        drawn = []
        # Later layers are wider. So are features than rows, if only just: left
        # alone, the compiler then gathers rows, and sends more in later layers.
        widths = (32, 64), (16, 48, 64), (32, 64)
        for sizes, hidden in zip(SIZES, widths, strict=True):
            m = mesh(sizes)
            features = 8 * int(rng.integers(3, 5))
            batch = place(normal(rng, features - 4, features), m, "x", None)
            layers = []
            for width in hidden:
                w1 = 0.4 * normal(rng, features, width)
                w2 = 0.4 * normal(rng, width, features)
                layers.append((place(w1, m, "x", "y"), place(w2, m, "y", "x")))
            drawn.append((batch, layers, m))
        return drawn

    def oracle(batch, layers, mesh):
        x = np.asarray(batch)
        for w1, w2 in layers:
            x = np.tanh(x @ np.asarray(w1)) @ np.asarray(w2)
        return x

    def budget(batch, layers, mesh):
        rows = batch.nbytes // mesh.shape["x"]
        most = 0
        for w1, w2 in layers:
            weights = (w1.nbytes + w2.nbytes) // mesh.shape["y"]
            most += sent("all-gather", weights, mesh.shape["x"])
            most += sent("all-reduce", rows, mesh.shape["y"])
        return Budget({"all-gather", "all-reduce"}, most)

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
        tolerance=1e-4,
    )


def test_dense(check):
    def cases(rng):
        drawn = []
        for sizes in SIZES:
            m = mesh(sizes, AxisType.Explicit)
            rows, features = (8 * int(k) for k in rng.integers(1, 4, 2))
            outputs = int(rng.integers(3, 7))
            x = place(normal(rng, rows, features), m, "x", "y")
            w = place(normal(rng, features, outputs), m, "y", None)
            b = place(normal(rng, outputs), m)
            drawn.append((x, w, b, m))
        return drawn

    def oracle(x, w, b, mesh):
        x, w, b = (np.asarray(a) for a in (x, w, b))
        return np.maximum(x @ w + b, 0)

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=lambda x, w, b, mesh: Budget(
            {"all-reduce"},
            sent(
                "all-reduce",
                4 * x.shape[0] * w.shape[1] // mesh.shape["x"],
                mesh.shape["y"],
            ),
        ),
        tolerance=1e-4,
    )
