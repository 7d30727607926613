"""minipod.replicas: what an array calls replicated, and is not, is found, by process, device and part."""

import re

import jax
import numpy as np
import pytest
from jax import P

from minipod.guard import OutOfStep
from minipod.replicas import ReplicasDiffer, same_replicas

make = jax.make_array_from_process_local_data


@pytest.mark.processes(2, devices=2)
def test_replicas_that_agree_are_left_alone_and_others_are_named_though_jax_calls_the_array_replicated():
    me, everywhere = jax.process_index(), jax.NamedSharding(jax.make_mesh((4,), ("i",)), P())
    same_replicas({"w": make(everywhere, np.ones(3)), "k": jax.random.key(1)}, "a")
    same_replicas(make(jax.NamedSharding(everywhere.mesh, P("i")), np.full(2, me)), "b")  # cut: nothing lies twice
    same_replicas(jax.numpy.full(3, me), "c")  # each process's own

    w = make(everywhere, np.float32([1, 2 + 1e-6 * me]))
    assert w.is_fully_replicated
    message = (
        "state['w'][:] should be the same everywhere, but is not: "
        "process 0 (device 0) holds different values from process 1 (device 2048)"
    )
    with pytest.raises(ReplicasDiffer, match=f"^{re.escape(message)}$"):
        same_replicas({"w": w}, "state")

    # the parts of a model axis across processes, where they should agree
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2).T, ("data", "model"))
    rows = jax.NamedSharding(mesh, P("data"))
    with pytest.raises(ReplicasDiffer, match=r"^x\[0:2\] should be the same everywhere"):
        same_replicas(make(rows, np.arange(4.0) + 9 * me * np.arange(4)), "x")
    same_replicas(make(rows, np.arange(4.0)), "y")

    words = r"^call \d+: process 0 calls same_replicas of w \(x \(3,\) float32\); "
    with pytest.raises(OutOfStep, match=words + r"process 1 calls same_replicas of w \(x \(4,\) float32\)$"):
        same_replicas(make(everywhere, np.ones(3 + me)), "w")


def test_alone_the_devices_of_one_process_are_compared():
    mesh = jax.make_mesh((8,), ("i",))
    one = [jax.device_put(np.float32([k == 5]), device) for k, device in enumerate(mesh.devices.flat)]
    x = jax.make_array_from_single_device_arrays((1,), jax.NamedSharding(mesh, P()), one)
    with pytest.raises(ReplicasDiffer, match=r"x\[:\].*process 0 \(device 0\) .* process 0 \(device 5\)$"):
        same_replicas(x, "x")
    same_replicas(jax.device_put(np.ones(8), jax.NamedSharding(mesh, P("i"))), "y")
