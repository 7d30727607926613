"""The checks of ch90_one."""

import jax
import numpy as np

from grader import Budget, sent


def meshes():
    return [jax.make_mesh((n,), ("x",), axis_types=(jax.sharding.AxisType.Auto,)) for n in (8, 4)]


def put(rng, mesh):
    x = rng.normal(size=2 * mesh.size).astype(np.float32) + 3
    return jax.device_put(x, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x")))


def test_double(check):
    def cases(rng):
        return [(put(rng, mesh),) for mesh in meshes()]

    check(cases, oracle=lambda x: 2 * np.asarray(x), compare=("value", "placement"))


def test_total(check):
    def cases(rng):
        return [(put(rng, mesh), mesh) for mesh in meshes()]

    def budget(x, mesh):
        return Budget({"all-reduce"}, sent("all-reduce", 4, mesh.size))

    check(cases, oracle=lambda x, mesh: np.asarray(x).sum(), how="jit", budget=budget, compare=("value", "placement"))


def test_count_to(check):
    def cases(rng):
        return [(int(n),) for n in rng.integers(2, 9, 2)]

    check(cases, oracle=lambda n: n, compare=("value", "printed"))
