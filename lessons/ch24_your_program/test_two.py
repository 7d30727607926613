"""The program in two processes, and after one of them was killed."""

from functools import partial

import jax
import numpy as np
import pytest
from jax import NamedSharding, P
from train import rows, start, step, train, whole_mesh

from minipod.guard import OutOfStep, meet
from minipod.testing import assert_replicas_equal, reach


@pytest.mark.processes(2, devices=4)
def test_each_process_has_its_rows():
    x, whole = rows(3, whole_mesh()), np.random.default_rng(3)
    whole = whole.normal(size=(64, 16)).astype(np.float32)
    for part in x.addressable_shards:
        np.testing.assert_array_equal(part.data, whole[part.index])


@pytest.mark.processes(2, devices=4)
def test_all_copies_stay_the_same():
    mesh = whole_mesh()
    state = jax.device_put(start(), NamedSharding(mesh, P()))
    run = jax.jit(partial(step, mesh=mesh))
    for i in range(3):
        state, value = run(state, rows(i, mesh))
        value.block_until_ready()
    assert_replicas_equal(state, "state")


@pytest.mark.processes(2, devices=4, grace=60)
@pytest.mark.fault("kill", process=1, step=6)
def test_it_goes_on_from_the_checkpoint(tmp_path):
    def begin(i):
        reach(i)  # here process 1 is killed
        meet(f"step {i}", seconds=2)  # here the other one notices

    with pytest.raises(OutOfStep, match="process 1 did not arrive"):
        train(tmp_path, 12, whole_mesh(), begin)
    four = jax.make_mesh((4,), ("data",), devices=jax.local_devices())
    found = train(tmp_path, 12, four)
    assert len(found) == 8  # steps 4 to 11
    (tmp_path / "undisturbed").mkdir()
    expected = train(tmp_path / "undisturbed", 12, four)[4:]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
