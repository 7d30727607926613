"""The checks of ch09_training: inputs drawn afresh, the oracle is NumPy."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from grader import Budget, array, fitting, normal, sent


def placed(mesh, x, *spec):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def line(n):
    (n,) = fitting(n)
    return jax.make_mesh((n,), ("data",), devices=jax.devices()[:n])


def parameters(rng, mesh, features, outputs):
    w, b = normal(rng, features, outputs), normal(rng, outputs)
    return {"w": placed(mesh, w), "b": placed(mesh, b)}


def one_sum(params, mesh):
    """The gradients in one all-reduce, and up to 16 bytes beside them."""
    size = sum(4 * w.size for w in params.values())
    return Budget({"all-reduce"}, sent("all-reduce", size + 16, mesh.size))


def float64(*arrays):
    return [np.asarray(a, np.float64) for a in arrays]


def loss(params, x, y, key):
    kept = jax.random.bernoulli(key, 0.75, x.shape)
    x = jnp.where(kept, x / 0.75, 0.0)
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)


def test_dropout_step(check):
    def cases(rng):
        drawn = []
        for n, rows, features, outputs in ((8, 3, 4, 2), (4, 5, 3, 3)):
            mesh = line(n)
            x, y = (
                normal(rng, n * rows, features),
                normal(rng, n * rows, outputs),
            )
            cut = placed(mesh, x, "data"), placed(mesh, y, "data")
            seed, rate = int(rng.integers(1000)), float(rng.uniform(0.1, 0.5))
            params = parameters(rng, mesh, features, outputs)
            drawn.append((loss, params, *cut, seed, rate, mesh))
        return drawn

    def oracle(loss, params, x, y, seed, rate, mesh):
        w, b, x, y = float64(params["w"], params["b"], x, y)
        parts = np.split(x, mesh.size), np.split(y, mesh.size)
        value, dw, db = 0.0, 0.0, 0.0
        for i, (xs, ys) in enumerate(zip(*parts, strict=True)):
            key = jax.random.fold_in(jax.random.key(seed), i)
            kept = np.asarray(jax.random.bernoulli(key, 0.75, xs.shape))
            xs = xs * kept / 0.75
            error = xs @ w + b - ys
            value += np.mean(error**2) / mesh.size
            dw += 2 * xs.T @ error / error.size / mesh.size
            db += 2 * error.sum(0) / error.size / mesh.size
        new = {"w": w - rate * dw, "b": b - rate * db}
        new = {k: v.astype(np.float32) for k, v in new.items()}
        return new, np.float32(value)

    check(
        cases,
        oracle=oracle,
        how="jit",
        budget=lambda _, params, *rest: one_sum(params, rest[-1]),
        compare=("value", "placement"),
        tolerance=1e-4,
    )


def test_shard_to_fit(check):
    def cases(rng):
        drawn = []
        for n, sizes in ((8, (6, 16, 24)), (4, (3, 8, 20))):
            odd, small, big = sizes
            params = {  # names do not say which is large
                "scale": normal(rng, big),
                "kernel": normal(rng, odd, small, big),
                "table": normal(rng, 3 * small * big // 2, odd).astype(
                    "bfloat16"
                ),
                "bias": normal(rng, n - 1, 7, 11),  # cannot be cut
                "head": normal(rng, small, small),
                "cube": normal(rng, 3, 5, small),  # in its last dimension only
            }
            by_size = sorted(params, key=lambda k: -params[k].nbytes)
            assert len({w.nbytes for w in params.values()}) == len(params)
            held = sum(w.nbytes for w in params.values())
            drawn.append((params, line(n), held))  # nothing has to be cut
            one_less = held - int(rng.integers(1, 50))
            drawn.append((params, line(n), one_less))  # one cut is enough
            share = held - params["kernel"].nbytes + int(rng.integers(1, 50))
            drawn.append((params, line(n), share))  # and here it is not, just
            for name in [k for k in by_size if k != "bias"][:3]:
                held -= params[name].nbytes * (n - 1) // n
            spare = 0 if n == 8 else int(rng.integers(1, 4))
            drawn.append((params, line(n), held + spare))  # at most: or just so
            least = sum(w.nbytes // n for k, w in params.items() if k != "bias")
            least += params["bias"].nbytes
            drawn.append((params, line(n), least))  # all that can be cut
        return drawn

    check(
        cases,
        oracle=lambda params, mesh, limit: {
            k: np.asarray(w) for k, w in params.items()
        },
        compare=("value", "placement"),
    )


def test_gated_mlp(check):
    def cases(rng):
        drawn = []
        for data, model, rows, d, h in ((2, 4, 6, 5, 8), (2, 2, 4, 3, 6)):
            shape, names = fitting(data, model), ("data", "model")
            here = jax.devices()[: math.prod(shape)]
            mesh = jax.make_mesh(shape, names, devices=here)
            x = placed(mesh, normal(rng, rows, d), "data")
            gate, up = (
                placed(mesh, normal(rng, d, h), None, "model") for _ in range(2)
            )
            down = placed(mesh, normal(rng, h, d), "model")
            bias = placed(mesh, normal(rng, d))
            drawn.append((x, gate, up, down, bias, mesh))
        return drawn

    def oracle(x, gate, up, down, bias, mesh):
        x, gate, up, down, bias = float64(x, gate, up, down, bias)
        hidden = x @ gate
        hidden = hidden / (1 + np.exp(-hidden)) * (x @ up)
        return (x + hidden @ down + bias).astype(np.float32)

    def budget(x, *rest):
        data, model = rest[-1].shape.values()
        return Budget(
            {"all-reduce"}, sent("all-reduce", 4 * x.size // data, model)
        )

    check(
        cases,
        oracle=oracle,
        how="jit",
        work=True,
        budget=budget,
        compare=("value", "placement"),
        tolerance=1e-4,
    )


def refusing(most):
    """Losses of rows, for at most so many rows at once."""

    def losses(params, x, y):
        if x.ndim != 2 or x.shape[0] > most:
            raise ValueError(
                f"losses takes x of shape (rows, features) with at most {most} "
                f"rows, got {x.shape}: one microbatch at a time"
            )
        return jnp.sum((x @ params["w"] + params["b"] - y) ** 2, axis=1)

    return losses


def test_accumulated_gradient(check):
    def cases(rng):
        drawn = []
        for n, micro, rows, features, outputs in (
            (8, 9, 8, 4, 2),
            (4, 5, 8, 3, 3),
        ):
            mesh = line(n)
            shape = (micro, rows)
            real = rng.integers(0, 2, shape).astype(np.float32)
            real[0] = 1  # a full microbatch, so that the counts differ
            real[1] = 0  # and one with nothing but padding
            real[-1, 0] = 1
            arrays = (
                normal(rng, *shape, features),
                normal(rng, *shape, outputs),
                array(real),
            )
            cut = [placed(mesh, a, None, "data") for a in arrays]
            params = parameters(rng, mesh, features, outputs)
            drawn.append((refusing(rows), params, *cut, mesh))
        return drawn

    def oracle(losses, params, x, y, real, mesh):
        w, b, x, y, real = float64(params["w"], params["b"], x, y, real)
        keep = real == 1
        x, y = x[keep], y[keep]
        error = 2 * (x @ w + b - y) / len(x)
        new = {"w": x.T @ error, "b": error.sum(0)}
        return {k: v.astype(np.float32) for k, v in new.items()}

    check(
        cases,
        oracle=oracle,
        how="jit",
        budget=lambda _, params, *rest: one_sum(params, rest[-1]),
        compare=("value", "placement"),
        tolerance=1e-4,
    )
