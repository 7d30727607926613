"""The checks of ch06_shard_map."""

import math

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from grader import Budget, array, fitting, normal, place, sent


def mesh(*sizes):
    """A mesh of the first devices with the Explicit axes "x" and "y"."""
    sizes = fitting(*sizes)
    devices = np.array(jax.devices()[: math.prod(sizes)]).reshape(sizes)
    explicit = (AxisType.Explicit,) * len(sizes)
    return Mesh(devices, ("x", "y")[: len(sizes)], axis_types=explicit)


def test_block_sums(check):
    def cases(rng):
        drawn = []
        for sizes, spec in (
            ((2, 4), ("x", "y")),
            ((2, 4), ("x",)),
            ((2, 2), (None, "y")),
            ((4, 2), ("y", "x")),
            ((2, 4), (("x", "y"), None)),
        ):
            m, (a, b) = mesh(*sizes), rng.integers(1, 4, 2)
            x = normal(rng, 8 * int(a), 8 * int(b)) + 1
            drawn.append((place(x, m, *spec), m, P(*spec)))
        return drawn

    def oracle(x, mesh, spec):
        x = np.asarray(x)
        height, width = NamedSharding(mesh, spec).shard_shape(x.shape)
        blocks = x.reshape(len(x) // height, height, x.shape[1] // width, width)
        return blocks.sum(axis=(1, 3)), x.sum()

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=lambda x, mesh, spec: Budget(
            {"all-reduce"}, sent("all-reduce", 4, mesh.size)
        ),
    )


def test_mean_and_variance(check):
    def cases(rng):
        drawn = []
        for sizes, shape, off in (
            ((2, 4), (4, 16), 2.5),
            ((2, 2), (8, 8), -3),
            ((4, 2), (8, 4), -2.5),
            ((2, 4), (2, 32), 2),
        ):
            m, n = mesh(*sizes), math.prod(shape)
            middle = 1024 * int(rng.integers(8, 16))
            # as many -1 as +1, n a power of two: the mean is exact in f32
            ones = int(rng.integers(n // 8, n // 4))
            e = np.repeat([-1, 0, 1], [ones, n - 2 * ones, ones])
            if sizes != (2, 2):  # there the shards differ most
                e = rng.permutation(e)
            x = place(array(middle + e.reshape(shape)), m, "x", "y")
            drawn.append((x, place(array(np.array(middle + off)), m), m))
        return drawn

    def oracle(x, guess, mesh):
        x = np.asarray(x, np.float64)
        return x.mean(), x.var()

    check(
        cases,
        oracle=oracle,
        how="jit",
        budget=lambda x, guess, mesh: Budget(
            {"all-reduce"}, sent("all-reduce", 8, mesh.size), single=True
        ),
    )


def test_first_largest(check):
    def cases(rng):
        drawn = []
        for size, each, low in ((8, 6, -9), (4, 5, 0), (8, 3, -3), (2, 8, 1)):
            n, m = size * each, mesh(size)
            numbers = rng.integers(low - 5, low, n).astype(np.float64)
            places = rng.choice(np.arange(1, n), 3, replace=False)
            first = int(rng.integers(1, n - 1))
            numbers[[*places[places > first], first, n - 1]] = low + 0.5
            drawn.append((place(array(numbers), m, "x"), m))
        return drawn

    check(
        cases,
        oracle=lambda x, mesh: int(np.argmax(np.asarray(x))),
        how="jit",
        budget=lambda x, mesh: Budget(
            {"all-reduce"}, sent("all-reduce", 8, mesh.size)
        ),
        values="index",
    )


def test_smooth(check):
    def cases(rng):
        drawn = []
        for size, each in ((8, 3), (4, 2), (2, 5), (4, 1)):
            m, columns = mesh(size), int(rng.integers(2, 6))
            drawn.append((place(normal(rng, size * each, columns), m, "x"), m))
        return drawn

    def oracle(x, mesh):
        rows = np.pad(np.asarray(x), ((1, 1), (0, 0)))
        return (rows[:-2] + rows[1:-1] + rows[2:]) / 3

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=lambda x, mesh: Budget(
            {"collective-permute"}, 2 * x.shape[1] * 4
        ),
    )
