"""Two processes with four devices each."""

import jax
import numpy as np
import pytest
from common import batches, trained
from minipod.testing import assert_replicas_equal

from byte_lm.layouts import make_mesh


def own() -> jax.sharding.Mesh:
    """One device, this process's own."""
    return jax.make_mesh((1, 1), ("data", "model"), devices=jax.local_devices()[:1])


@pytest.mark.processes(2, devices=4, seconds=300)
def test_two_processes_train_as_one_device_does_and_all_copies_stay_the_same():
    state, found = trained(make_mesh(4, 2))
    _, expected = trained(own())
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert_replicas_equal(state, "state")


@pytest.mark.processes(2, devices=4, seconds=300)
@pytest.mark.parametrize("data, model", [(8, 1), (2, 4), (1, 8)])
def test_each_process_reads_the_rows_of_its_devices(data, model):
    several, one = batches(make_mesh(data, model)), batches(own())
    shards = min(data, 2)  # with one, both processes hold all rows
    for _ in range(7):  # more than an epoch
        whole = np.asarray(next(one))[jax.process_index() % shards :: shards]
        for part in next(several).addressable_shards:
            first = part.index[0].indices(32)[0] % len(whole)
            np.testing.assert_array_equal(part.data, whole[first : first + len(part.data)])
    assert several.position == one.position == 7
