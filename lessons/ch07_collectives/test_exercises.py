"""The checks of ch07_collectives; meshes take devices in a drawn order."""

import jax
import numpy as np
from jax.sharding import AxisType

from grader import Budget, drawn_mesh, fitting, normal, place, sent
from minipod.traffic import LINKS, Link


def test_ring_all_reduce(check):
    def cases(rng):
        drawn = []
        for size in (4, 8):
            (size,) = fitting(size)
            m = drawn_mesh(rng, size, "x", AxisType.Explicit)
            columns = size * int(rng.integers(2, 5))
            drawn.append((place(normal(rng, size, columns), m, "x"), m))
        return drawn

    def oracle(x, mesh):
        return np.broadcast_to(np.asarray(x).sum(axis=0), x.shape)

    def budget(x, mesh):
        n, columns = x.shape
        size = 2 * (n - 1) * columns // n * 4
        seconds = size / LINKS["TPU v4"].bytes_per_second
        return Budget(
            {"collective-permute"}, size, seconds=seconds, on="TPU v4"
        )

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


def test_mean_gradient_shards(check):
    def cases(rng):
        drawn = []
        for size in (4, 8):
            (size,) = fitting(size)
            m = drawn_mesh(rng, size, "x", AxisType.Explicit)
            a, b = (size * int(k) for k in rng.permutation([1, 2, 3])[:2])
            shapes = {"w": (size, a, b), "b": (size, b), "scale": (size, a)}
            gradients = {
                name: place(normal(rng, *shape), m, "x")
                for name, shape in shapes.items()
            }
            drawn.append((gradients, m))
        return drawn

    def oracle(gradients, mesh):
        return {k: np.asarray(g).mean(axis=0) for k, g in gradients.items()}

    def budget(gradients, mesh):
        size = sum(g[0].nbytes for g in map(np.asarray, gradients.values()))
        return Budget(
            {"reduce-scatter"}, sent("reduce-scatter", size, mesh.size)
        )

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


def test_to_experts(check):
    def cases(rng):
        drawn = []
        for size, each, d, h in (
            (4, 3, 3, 5),
            (8, int(rng.integers(2, 4)), 6, 2),
        ):
            (size,) = fitting(size)
            m = drawn_mesh(rng, size, "x", AxisType.Explicit)
            chosen = np.repeat(np.arange(size, dtype=np.int32), each)
            expert = [rng.permutation(chosen) for _ in range(size)]
            tokens = normal(rng, size * size * each, d)
            weights = normal(rng, size, d, h)
            arrays = tokens, np.concatenate(expert), weights
            drawn.append((*(place(array, m, "x") for array in arrays), m))
        return drawn

    def oracle(tokens, expert, weights, mesh):
        tokens, expert, weights = map(np.asarray, (tokens, expert, weights))
        rows = zip(tokens, expert, strict=True)
        return np.stack([token @ weights[e] for token, e in rows])

    def budget(tokens, expert, weights, mesh):
        n, d, h = weights.shape
        exchanged = len(tokens) // n * (d + h) * 4
        return Budget({"all-to-all"}, sent("all-to-all", exchanged, n))

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


def outcomes(before, reduction):
    """The blocks after each collective, by its definition."""
    n, k = before.shape
    pieces = [np.split(row, n) for row in before]
    whole = reduction(before, axis=0).astype(before.dtype)
    return {
        "all-reduce": np.tile(whole, (n, 1)),
        "all-gather": np.tile(before.ravel(), (n, 1)),
        "reduce-scatter": whole.reshape(n, k // n),
        "all-to-all": np.stack(
            [np.concatenate([row[i] for row in pieces]) for i in range(n)]
        ),
    }


def permuted(before, rng, complete):
    """Passed on around a drawn ring; in an incomplete one, one gets nothing."""
    ring, after = rng.permutation(len(before)), np.zeros_like(before)
    after[ring[1:]] = before[ring[:-1]]
    if complete:
        after[ring[0]] = before[ring[-1]]
    return after


def test_which_collective(check):
    def cases(rng):
        drawn = []
        for n, dtype, reduction in (
            (4, "float32", np.max),
            (3, "float16", np.sum),
            (2, "int16", np.min),
        ):
            # two rows: half a row is wider than the array is high
            shape = n, n * int(rng.integers(3 if n == 2 else 2, 5))
            before = rng.normal(scale=500, size=shape).astype(dtype)
            afters = list(outcomes(before, reduction).values())
            afters.append(permuted(before, rng, complete=n < 4))
            if n == 4:  # the first, or the last, keeps what it has
                afters += [before[[0, 2, 3, 1]], before[[1, 2, 0, 3]]]
            drawn += [(before, after) for after in afters]
        return [drawn[i] for i in rng.permutation(len(drawn))]

    def oracle(before, after):
        size = max(before[0].nbytes, after[0].nbytes)
        for reduction in (np.sum, np.max, np.min):
            for name, expected in outcomes(before, reduction).items():
                if np.array_equal(after, expected):
                    return name, size
        return "collective-permute", size

    check(cases, oracle=oracle, values=("label", "bytes"))


def test_fastest_mesh(check):
    def cases(rng):
        def step(n, outputs, rows, sums, waits, fit=None, spare=0):
            """A step on n devices, with arrays and a link drawn to fit.

            outputs, rows: a number for each device
            waits: an all-reduce of x takes so many times the latency
            fit: on a device there is room for one of so many parts of w, and
                for spare bytes; without, for all of it twice
            """
            features = n * int(rng.integers(1, 4))
            w = normal(rng, features, n * outputs)
            x = normal(rng, n * rows, features)
            devices = rng.choice(np.array(jax.devices()), n, replace=False)
            latency = float(rng.integers(1, 10)) * 1e-6
            bandwidth = x.nbytes / (waits * latency)
            link = Link("a switch", bandwidth, "switch", "invented", latency)
            room = w.nbytes // fit + spare if fit else 2 * w.nbytes
            return w, x, sums, room, list(devices), link

        return [
            # both axes
            step(8, 8, 3, 3, waits=2),
            # many small sums: latency is all, so no axis "model"
            step(8, 12, 2, 16, waits=1.5),
            # few sums, but few gradients, too
            step(8, 2, 3, 2, waits=3),
            # much is summed, but only a quarter of the weights fits on one
            step(8, 12, 1, 24, waits=1.5, fit=4, spare=32),
            # here half of them fills the room to its last byte
            step(8, 6, 2, 12, waits=4, fit=2),
            # and here there is one byte too many for that
            step(8, 6, 2, 12, waits=4, fit=2, spare=-1),
            # the best has no power of two for data, and for model
            step(6, 8, 2, 8, waits=6),
            step(6, 6, 1, 8, waits=3),
            # few sums: the whole model on its own devices
            step(8, 8, 2, 2, waits=1.5),
            # both axes again, and here (n-1)/n matters
            step(4, 12, 2, 4, waits=6),
            # sums so small that each takes the latency: no axis "model"
            step(8, 4, 1, 3, waits=0.5),
            step(6, 4, 1, 3, waits=0.5),
            step(4, 4, 1, 3, waits=0.5),
        ]

    def oracle(w, x, sums, room, devices, link):
        return np.asarray(w), np.asarray(x)

    check(cases, oracle=oracle, compare=("value", "placement"))
