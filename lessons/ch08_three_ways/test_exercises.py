"""The checks of ch08_three_ways; budgets in bytes that a device sends."""

import jax
import numpy as np
from jax.sharding import AxisType

from grader import Budget, fitting, normal, place, sent

SIZES = (2, 4), (4, 2)


def layers(rng, kind):
    drawn = []
    for sizes, hidden in zip(SIZES, (8, 24), strict=True):
        data, model = fitting(*sizes)
        devices = jax.devices()[: data * model]
        mesh = jax.make_mesh(
            (data, model),
            ("data", "model"),
            axis_types=(kind,) * 2,
            devices=devices,
        )
        rows, features = (8 * int(k) for k in rng.integers(2, 4, 2))
        x = place(normal(rng, rows, features), mesh, "data", None)
        shapes = (features, hidden), (hidden,), (hidden, features), (features,)
        weights = (place(0.3 * normal(rng, *shape), mesh) for shape in shapes)
        drawn.append((x, *weights, mesh))
    return drawn


def same_layers(x, w1, b1, w2, b2, mesh):
    x, w1, b1, w2, b2 = (np.asarray(a) for a in (x, w1, b1, w2, b2))
    h = np.tanh(x @ w1 + b1)
    return h, h @ w2 + b2


def one_sum(x, w1, b1, w2, b2, mesh):
    rows = x.nbytes // mesh.shape["data"]
    size = sent("all-reduce", rows, mesh.shape["model"])
    return Budget({"all-reduce"}, size, single=True)


def check_layers(check, kind):
    check(
        lambda rng: layers(rng, kind),
        oracle=same_layers,
        compare=("value", "placement"),
        how="jit",
        budget=one_sum,
        work=True,
        tolerance=1e-4,
    )


def test_mlp_by_constraints(check):
    check_layers(check, AxisType.Auto)


def test_mlp_by_hand(check):
    check_layers(check, AxisType.Auto)


def test_mlp_explicit(check):
    check_layers(check, AxisType.Explicit)


def test_collective_matmul(check):
    def cases(rng):
        drawn = []
        for most in (4, 8):
            (n,) = fitting(most)
            mesh = jax.make_mesh((n,), ("x",), devices=jax.devices()[:n])
            rows, columns = (int(k) for k in rng.integers(4, 6, 2))
            features = 32 * int(rng.integers(8, 10))  # so that x is large
            x = place(normal(rng, n * rows, features), mesh, "x", None)
            w = place(normal(rng, features, n * columns), mesh, None, "x")
            drawn.append((x, w, mesh))
        return drawn

    def budget(x, w, mesh):
        n, result = mesh.size, len(x) * w.shape[1] // mesh.size * 4
        return Budget(
            {"collective-permute"},
            (n - 1) * x.nbytes // n,
            temporary=(n // 2 + 1) * x.nbytes // n + 2 * result + 1024,
            hidden=True,
        )

    check(
        cases,
        oracle=lambda x, w, mesh: np.asarray(x) @ np.asarray(w),
        compare=("value", "placement"),
        how="jit",
        budget=budget,
        tolerance=1e-4,
    )
