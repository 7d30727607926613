"""One step, on eight simulated devices."""

from functools import partial

import jax
import numpy as np
import pytest
from jax import NamedSharding, P
from train import rows, start, step, train, whole_mesh

from minipod.testing import assert_memory, assert_traffic, assert_work


def one_step(mesh):
    """The step, and what it is called with."""
    state = jax.device_put(start(), NamedSharding(mesh, P()))
    return partial(step, mesh=mesh), state, rows(0, mesh)


@pytest.mark.devices(8)
def test_eight_devices_train_as_one(tmp_path_factory):
    one = jax.make_mesh((1,), ("data",), devices=jax.devices()[:1])
    found = train(tmp_path_factory.mktemp("eight"), 12, whole_mesh())
    expected = train(tmp_path_factory.mktemp("one"), 12, one)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.devices(8)
def test_bytes():
    only = {"all-reduce"}
    assert_traffic(*one_step(whole_mesh()), sent=14_343, only=only)


@pytest.mark.devices(8)
def test_memory():
    assert_memory(*one_step(whole_mesh()), temporary=8_192)


@pytest.mark.devices(8)
def test_work():
    assert_work(*one_step(whole_mesh()), flops=81_920)
