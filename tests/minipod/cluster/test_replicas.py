"""minipod.replicas: what an array calls replicated, and is not, is found, by process, device and part."""

import re

import jax
import numpy as np
import pytest
from jax import P

from minipod.guard import OutOfStep
from minipod.replicas import ReplicasDiffer, same_replicas

make = jax.make_array_from_process_local_data


@pytest.fixture
def everywhere():
    return jax.NamedSharding(jax.make_mesh((jax.device_count(),), ("i",)), P())


@pytest.mark.processes(2, devices=2)
def test_replicas_that_agree_are_left_alone(everywhere):
    me = jax.process_index()
    same_replicas({"w": make(everywhere, np.ones(3)), "k": jax.random.key(1)}, "a")
    same_replicas(make(jax.NamedSharding(everywhere.mesh, P("i")), np.full(2, me)), "b")  # cut: nothing lies twice
    same_replicas(jax.numpy.full(3, me), "c")  # each process's own


@pytest.mark.processes(2, devices=2)
def test_a_process_with_other_values_is_named_though_jax_calls_the_array_replicated(everywhere):
    w = make(everywhere, np.float32([1, 2 + 1e-6 * jax.process_index()]))
    assert w.is_fully_replicated
    message = (
        "state['w'][:] should be the same everywhere, and is not: "
        "process 0 (device 0) holds other values than process 1 (device 2048)"
    )
    with pytest.raises(ReplicasDiffer, match=f"^{re.escape(message)}$"):
        same_replicas({"w": w}, "state")


@pytest.mark.processes(2, devices=2)
def test_parts_of_a_model_axis_across_processes_are_compared_where_they_should_agree():
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2).T, ("data", "model"))
    rows = jax.NamedSharding(mesh, P("data"))
    with pytest.raises(ReplicasDiffer, match=r"^x\[0:2\] should be the same everywhere"):
        same_replicas(make(rows, np.arange(4.0) + 9 * jax.process_index() * np.arange(4)), "x")
    same_replicas(make(rows, np.arange(4.0)), "y")


@pytest.mark.processes(2, devices=2)
def test_a_process_that_compares_something_else_is_named(everywhere):
    words = "call 1: process 0 calls same_replicas of w (x (3,) float32); "
    words += "process 1 calls same_replicas of w (x (4,) float32)"
    with pytest.raises(OutOfStep, match=f"^{re.escape(words)}$"):
        same_replicas(make(everywhere, np.ones(3 + jax.process_index())), "w")


def test_alone_the_devices_of_one_process_are_compared():
    mesh = jax.make_mesh((8,), ("i",))
    one = [jax.device_put(np.float32([k == 5]), device) for k, device in enumerate(mesh.devices.flat)]
    x = jax.make_array_from_single_device_arrays((1,), jax.NamedSharding(mesh, P()), one)
    with pytest.raises(ReplicasDiffer, match=r"x\[:\].*process 0 \(device 0\) .* process 0 \(device 5\)$"):
        same_replicas(x, "x")
    same_replicas(jax.device_put(np.ones(8), jax.NamedSharding(mesh, P("i"))), "y")
