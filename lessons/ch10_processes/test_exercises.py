"""The checks of ch10_processes: each runs in two processes, the first in three.

The oracle is NumPy on everybody's numbers.
"""

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

pytestmark = pytest.mark.processes(2, devices=4)


def parts(rng, *shape):
    """Everybody's numbers, the same in each process: f32[processes, *shape]."""
    return rng.normal(size=(jax.process_count(), *shape)).astype(np.float32)


def mine(everybody):
    return everybody[jax.process_index()]


@pytest.mark.processes(3, devices=2)
def test_who_am_i(check):
    def oracle():
        owners = {d.id: d.process_index for d in jax.devices()}
        me = jax.process_index()
        return {
            "process": me,
            "processes": len(set(owners.values())),
            "mine": sorted(i for i, owner in owners.items() if owner == me),
            "everyone": len(owners),
        }

    check(
        lambda rng: [()],
        oracle=oracle,
        values={
            "process": "id",
            "processes": "count",
            "mine": "id",
            "everyone": "count",
        },
    )


def test_global_sum(check):
    everybody = []

    def cases(rng):
        everybody.extend(
            parts(rng, jax.local_device_count() * k) for k in (1, 3)
        )
        return [(mine(p),) for p in everybody]

    def oracle(x):
        (whole,) = (
            p for p in everybody if mine(p) is x or np.array_equal(mine(p), x)
        )
        return float(whole.sum(dtype=np.float64))

    check(cases, oracle=oracle, tolerance=1e-4)


def test_print_mean(check):
    def cases(rng):
        mesh = jax.make_mesh((jax.device_count(),), ("i",))
        sharding = NamedSharding(mesh, P("i"))
        drawn = parts(rng, jax.local_device_count() * 2)
        even = np.round(parts(rng, jax.local_device_count() * 5))
        even[0, 0] += 3.25 * even.size - even.sum()  # a mean of 3.2500
        return [
            (jax.make_array_from_process_local_data(sharding, mine(p)),)
            for p in (drawn, even)
        ]

    check(cases, oracle=lambda xs: None, compare=("value", "printed"))


def test_gather_for_all(check):
    everybody = []

    def cases(rng):
        everybody.extend(parts(rng, *shape) for shape in ((4, 3), (3, 2)))
        return [(mine(p),) for p in everybody]

    def oracle(x):
        (whole,) = (p for p in everybody if np.array_equal(mine(p), x))
        return whole.reshape(-1, x.shape[1])

    check(cases, oracle=oracle)
