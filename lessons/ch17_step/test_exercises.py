"""The checks of ch17_step: inputs drawn afresh, the oracle is NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import AxisType

from grader import Budget, fitting, normal, place, sent


def line(n, kind=AxisType.Explicit):
    (n,) = fitting(n)
    here = jax.devices()[:n]
    return jax.make_mesh((n,), ("data",), (kind,), devices=here)


def test_state_like(check):
    def cases(rng):
        drawn = []
        adam = optax.adamw(0.01)
        clipped = optax.chain(
            optax.clip_by_global_norm(1.0), optax.sgd(0.1, momentum=0.9)
        )
        tuned = optax.inject_hyperparams(optax.adam)(learning_rate=0.01)
        cuts = [(None, "data"), (), ("data",)]
        for n, optimizer, k in ((8, adam, 3), (4, clipped, 5), (4, tuned, 2)):
            mesh = line(n, AxisType.Auto)
            params = {
                name: place(normal(rng, 16, 8 * k), mesh, *cut)
                for name, cut in zip(("down", "gate", "up"), cuts, strict=True)
            }
            params["bias"] = place(normal(rng, 7), mesh)
            drawn.append((optimizer, params, mesh))
            cuts = [*cuts[1:], cuts[0]]  # no name has one layout for ever
        return drawn

    def oracle(optimizer, params, mesh):
        whole = {name: np.asarray(w) for name, w in params.items()}
        return [np.asarray(x) for x in jax.tree.leaves(optimizer.init(whole))]

    check(cases, oracle=oracle, compare=("value", "placement"))


def test_zero_bytes(check):
    def cases(rng):
        drawn = []
        for stage in ("DP", "ZeRO-1", "ZeRO-2", "ZeRO-3"):
            for n in (4, 16):
                size = n * int(rng.integers(1000, 9000))
                drawn.append((size, n, stage, int(rng.integers(2, 9))))
        return drawn

    def oracle(parameters, n, stage, parts):
        size = 4 * parameters
        share = {"DP": 1.0, "ZeRO-3": 1 / n}.get(stage, 1.0)
        state = 1.0 if stage == "DP" else 1 / n
        once = {"DP": 2, "ZeRO-1": 2, "ZeRO-2": parts + 1, "ZeRO-3": 3 * parts}
        return {
            "held": round(size * (share + 2 * state)),
            "sent": round(once[stage] * size * (n - 1) / n),
        }

    check(cases, oracle=oracle, values="bytes")


def test_zero_one(check):
    def cases(rng):
        drawn = []
        for n, rows, d, k in ((8, 3, 2, 3), (4, 5, 3, 4)):
            mesh = line(n)
            w, momentum = normal(rng, n * d, k), normal(rng, n * d, k)
            x, y = normal(rng, n * rows, n * d), normal(rng, n * rows, k)
            norm = float(np.linalg.norm(2 * x.T @ (x @ w - y) / y.size))
            little = float(rng.uniform(0.1, 0.3))
            limits = (little, 1.1 * norm) if n == 8 else (0.9 * norm, 1000.0)
            cut = [place(a, mesh, "data") for a in (momentum, x, y)]
            for limit in limits:
                drawn.append((place(w, mesh), *cut, limit, mesh))
        return drawn

    def oracle(w, momentum, x, y, limit, mesh):
        w, momentum, x, y = (
            np.asarray(a, np.float64) for a in (w, momentum, x, y)
        )
        g = 2 * x.T @ (x @ w - y) / y.size
        g *= min(1, limit / np.sqrt(np.sum(g**2)))
        momentum = 0.9 * momentum + g
        new = w - 0.1 * momentum, momentum
        return tuple(a.astype(np.float32) for a in new)

    def budget(w, *rest):
        n, kinds = rest[-1].size, {"reduce-scatter", "all-gather", "all-reduce"}
        return Budget(kinds, sent("all-reduce", w.nbytes + 4, n))

    check(
        cases,
        oracle=oracle,
        how="jit",
        budget=budget,
        compare=("value", "placement"),
        tolerance=1e-4,
    )


def in_bf16(x):
    return np.asarray(jnp.asarray(x, jnp.bfloat16).astype(jnp.float32))


def half_of_squares(w, x):
    return jnp.sum((x @ w) ** 2) / 2


def test_summed_in_f32(check):
    def cases(rng):
        drawn = []
        for n, micro, d, k, most in ((8, 24, 4, 3, 3), (4, 40, 3, 2, 15)):
            mesh = line(n)
            near = rng.integers(1, most + 1, (d, k)) + 2.0**-10  # no bf16
            # A row for each device: two on one would be added in bf16.
            x = rng.integers(1, most + 1, (micro, mesh.size, d))
            x = jnp.asarray(x, jnp.bfloat16)
            x = place(x, mesh, None, "data")
            w = place(np.float32(near), mesh)
            drawn.append((half_of_squares, w, x, mesh))
        return drawn

    def oracle(loss, w, x, mesh):
        w = np.round(np.asarray(w))  # to bf16, as the inputs are drawn
        rows = np.asarray(x.astype(jnp.float32)).reshape(-1, len(w))
        each = rows[:, :, None] * in_bf16(rows @ w)[:, None]  # d by k
        return in_bf16(each).sum(0)

    def budget(loss, w, x, mesh):
        return Budget({"all-reduce"}, sent("all-reduce", w.nbytes, mesh.size))

    check(
        cases,
        oracle=oracle,
        how="jit",
        budget=budget,
        compare=("value", "placement"),
        tolerance=1e-6,
    )


WIDE = np.linspace(0.5, 2, 16, dtype=np.float32)  # 16 numbers for each of x


def frozen(d):
    return np.float32(np.random.default_rng(d).normal(size=(d, d)) / d)


def of_width(d):
    def layer(x, w):
        """x: f32[rows, d], w: f32[d]. What `frozen` sees is not trained."""
        features = jax.lax.stop_gradient(x) @ frozen(d)
        features = checkpoint_name(features, "features")
        wide = jnp.tanh((x * w)[..., None] * WIDE)
        wide = jnp.sin(wide + features[..., None])
        return x + jnp.mean(jnp.cos(wide), axis=-1) / 8

    return layer


def test_keep_by_name(check):
    def cases(rng):
        drawn = []
        for n, layers, rows, d in ((8, 24, 16, 32), (4, 32, 8, 64)):
            mesh = line(n)
            w = place(normal(rng, layers, d), mesh)
            x = place(normal(rng, n * rows, d), mesh, "data")
            drawn.append((of_width(d), w, x, mesh))
        return drawn

    def budget(layer, w, x, mesh):
        here = x.nbytes // mesh.size
        return Budget(
            {"all-reduce"},
            sent("all-reduce", w.nbytes, mesh.size),
            temporary=(4 * len(w) + 128) * here,
        )

    def oracle(layer, w, x, mesh):
        def loss(w):
            rows = jnp.asarray(np.asarray(x))
            after, _ = jax.lax.scan(lambda x, w: (layer(x, w), None), rows, w)
            return jnp.sum(after**2)

        return np.asarray(jax.jit(jax.grad(loss))(np.asarray(w)))

    check(
        cases,
        oracle=oracle,
        how="jit",
        budget=budget,
        work=True,
        compare=("value", "placement"),
        tolerance=1e-3,
    )
