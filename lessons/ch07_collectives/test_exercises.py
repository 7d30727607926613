"""The checks of ch07_collectives; meshes take devices in a drawn order."""

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from grader import Budget, normal, sent
from minipod.traffic import LINKS, Link


def mesh(rng, size):
    devices = rng.permutation(np.array(jax.devices()[:size]))
    return Mesh(devices, ("x",), axis_types=(AxisType.Explicit,))


def cut(array, mesh):
    """The array with its first dimension cut along the mesh."""
    return jax.device_put(array, NamedSharding(mesh, P("x")))


def test_ring_all_reduce(check):
    def cases(rng):
        drawn = []
        for size in (4, 8):
            m = mesh(rng, size)
            columns = size * int(rng.integers(2, 5))
            drawn.append((cut(normal(rng, size, columns), m), m))
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
            m = mesh(rng, size)
            a, b = (size * int(k) for k in rng.permutation([1, 2, 3])[:2])
            shapes = {"w": (size, a, b), "b": (size, b), "scale": (size, a)}
            gradients = {
                name: cut(normal(rng, *shape), m)
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
            m = mesh(rng, size)
            chosen = np.repeat(np.arange(size, dtype=np.int32), each)
            expert = [rng.permutation(chosen) for _ in range(size)]
            tokens = normal(rng, size * size * each, d)
            weights = normal(rng, size, d, h)
            arrays = tokens, np.concatenate(expert), weights
            drawn.append((*(cut(array, m) for array in arrays), m))
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
    fast = Link("a fast switch", 4.5e11, "switch", "invented", latency=1e-5)
    slow = Link("a slow switch", 5e10, "switch", "invented", latency=2e-6)
    mib = 2**20

    def cases(rng):
        some = [int(m) for m in rng.integers(90, 111, 5)]  # hundredths of MiB
        large, small, deep, wide, odd = (m * mib // 100 for m in some)
        return [
            # as many bytes of gradients as of activations: both axes
            (256 * large, 8 * large, 32, 999 * mib, 16, slow),
            # many small sums: latency is all, so no axis "model"
            (48 * small, small // 8, 96, 999 * mib, 16, fast),
            # much is summed, but the weights do not fit on one
            (100 * deep, 12 * deep, 80, 30 * deep, 8, slow),
            # the same, and they fill the room to its last byte
            (100 * deep, 12 * deep, 80, 25 * deep, 8, slow),
            # and here there is one byte too many for that
            (100 * deep + 1, 12 * deep, 80, 25 * deep, 8, slow),
            # the best has no power of two for data
            (512 * odd, 10 * odd, 32, 999 * mib, 12, slow),
            # few activations: the whole model on its own devices
            (512 * wide, wide, 24, 999 * mib, 12, slow),
        ]

    def oracle(weights, activations, sums, room, devices, link):
        def seconds(b, n):
            return 2 * max(
                b * (1 - 1 / n) / link.bytes_per_second, link.latency
            )

        times = {}
        for data in (d for d in range(1, devices + 1) if devices % d == 0):
            model = devices // data
            if weights <= room * model:
                times[data, model] = (data > 1) * seconds(weights / model, data)
                times[data, model] += (
                    (model > 1) * sums * seconds(activations / data, model)
                )
        best = sorted(times, key=lambda mesh: times[mesh])[0]
        return best, times[best]

    check(cases, oracle=oracle, values=("label", "seconds"))
