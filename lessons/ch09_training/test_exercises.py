"""The checks of ch09_training: inputs drawn afresh, the oracle is NumPy."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from grader import Budget, array, fitting, float64, normal, place, sent


def line(n):
    (n,) = fitting(n)
    return jax.make_mesh((n,), ("data",), devices=jax.devices()[:n])


def parameters(rng, mesh, features, outputs):
    w, b = normal(rng, features, outputs), normal(rng, outputs)
    return {"w": place(w, mesh), "b": place(b, mesh)}


def one_sum(params, mesh):
    """The gradients in one all-reduce, and up to 16 bytes beside them."""
    size = sum(4 * w.size for w in params.values())
    return Budget({"all-reduce"}, sent("all-reduce", size + 16, mesh.size))


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
            cut = place(x, mesh, "data"), place(y, mesh, "data")
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
            x = place(normal(rng, rows, d), mesh, "data")
            gate, up = (
                place(normal(rng, d, h), mesh, None, "model") for _ in range(2)
            )
            down = place(normal(rng, h, d), mesh, "model")
            bias = place(normal(rng, d), mesh)
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
            cut = [place(a, mesh, None, "data") for a in arrays]
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


def auto(n):
    """A mesh of the first devices with the Auto axis "x"."""
    (n,) = fitting(n)
    return Mesh(
        np.array(jax.devices()[:n]), ("x",), axis_types=(AxisType.Auto,)
    )


def decay(state, batch):
    """A decaying sum of all batches, and how often each entry was positive."""
    return {
        "trace": 0.5 * state["trace"] + batch.sum(axis=0),
        "positive": state["positive"] + (state["trace"] > 0)[:, None],
    }


def descend(state, batch):
    """One step of gradient descent with momentum towards the batch's mean."""
    speed = 0.9 * state["speed"] + state["w"] - batch.mean(axis=0)
    return {"speed": speed, "w": state["w"] - 0.1 * speed}


def test_two_steps_in_one_memory(check):
    def cases(rng):
        drawn = []
        for size, update, specs, of_batch in (
            (8, decay, {"trace": P(), "positive": P("x")}, P(None, "x")),
            (4, descend, {"w": P("x"), "speed": P("x")}, P()),
            (4, decay, {"trace": P("x"), "positive": P(None, "x")}, P()),
        ):
            m, n = auto(size), 8 * int(rng.integers(1, 5))
            state = {
                name: jax.device_put(
                    normal(rng, *((n, 4) if name == "positive" else (n,))),
                    NamedSharding(m, spec),
                )
                for name, spec in specs.items()
            }
            batch = jax.device_put(
                normal(rng, 6, n), NamedSharding(m, of_batch)
            )
            drawn.append((update, state, batch))
        return drawn

    def oracle(update, state, batch):
        shards = [a.addressable_shards[0].data for a in state.values()]
        alone = jax.tree.map(np.asarray, (state, batch))
        for _ in range(2):
            alone = update(*alone), alone[1]
        return alone[0], sum(shard.nbytes for shard in shards)

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        values=("data", "bytes"),
    )


def two_layers(params, x, y):
    hidden = jnp.tanh(x @ params["up"] + params["bias"])
    return jnp.mean((hidden @ params["down"] - y) ** 2)


def test_fsdp_step(check):
    def cases(rng):
        drawn = []
        for n, rows, features, hidden, outputs in (
            (8, 3, 8, 17, 3),
            (4, 5, 9, 8, 2),
        ):
            mesh = line(n)
            shapes = {
                "up": (features, hidden),
                "bias": (hidden,),
                "down": (hidden, outputs),
            }
            params = {
                name: place(
                    normal(rng, *shape),
                    mesh,
                    *["data"] * (shape[0] % mesh.size == 0),
                )
                for name, shape in shapes.items()
            }
            x = normal(rng, mesh.size * rows, features)
            y = normal(rng, mesh.size * rows, outputs)
            cut = place(x, mesh, "data"), place(y, mesh, "data")
            drawn.append(
                (two_layers, params, *cut, float(rng.uniform(0.1, 0.5)), mesh)
            )
        return drawn

    def oracle(loss, params, x, y, rate, mesh):
        up, bias, down, x, y = float64(
            *(params[k] for k in ("up", "bias", "down")), x, y
        )
        hidden = np.tanh(x @ up + bias)
        error = hidden @ down - y
        back = 2 * error / error.size
        inner = back @ down.T * (1 - hidden**2)
        gradient = {
            "up": x.T @ inner,
            "bias": inner.sum(0),
            "down": hidden.T @ back,
        }
        old = {"up": up, "bias": bias, "down": down}
        new = {k: (old[k] - rate * gradient[k]).astype(np.float32) for k in old}
        return new, np.float32(np.mean(error**2))

    def budget(loss, params, x, y, rate, mesh):
        cut = sum(
            4 * w.size for w in params.values() if len(w) % mesh.size == 0
        )
        rest = sum(4 * w.size for w in params.values()) - cut
        most = sent("all-gather", cut, mesh.size) + sent(
            "reduce-scatter", cut, mesh.size
        )
        most += sent("all-reduce", rest + 16, mesh.size)
        return Budget({"all-gather", "reduce-scatter", "all-reduce"}, most)

    check(
        cases,
        oracle=oracle,
        how="jit",
        budget=budget,
        compare=("value", "placement"),
        tolerance=1e-4,
    )


def directions(w, h):
    """Each row by w, and of length one: of rows of zeros it makes NaN."""
    h = h @ w
    return h / jnp.sqrt(jnp.sum(h * h, axis=-1, keepdims=True))


def test_through_stages(check):
    def cases(rng):
        drawn = []
        for n, parts, rows, d in ((4, 6, 2, 5), (8, 3, 3, 4), (2, 1, 4, 3)):
            (n,) = fitting(n)
            mesh = jax.make_mesh((n,), ("stage",), devices=jax.devices()[:n])
            weights = place(normal(rng, n, d, d), mesh, "stage")
            drawn.append(
                (
                    directions,
                    weights,
                    place(normal(rng, parts, rows, d), mesh),
                    mesh,
                )
            )
        return drawn

    def oracle(layer, weights, x, mesh):
        weights, x = float64(weights, x)
        for w in weights:
            x = x @ w
            x = x / np.sqrt((x * x).sum(-1, keepdims=True))
        return x.astype(np.float32)

    def budget(layer, weights, x, mesh):
        n, (parts, rows, d) = mesh.size, x.shape
        turns = (parts + n - 1) * rows * d * 4
        return Budget(
            {"collective-permute", "all-reduce"},
            turns + sent("all-reduce", x.nbytes, n),
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
