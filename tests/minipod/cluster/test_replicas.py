"""minipod.replicas: what an array calls replicated, and is not, is found, by process, device and part."""

import jax
import numpy as np
import pytest
from jax import P

from minipod import cluster
from minipod.replicas import ReplicasDiffer, same_replicas

TOGETHER = """
import jax
import numpy as np
from jax import P
from minipod.cluster import launch_arguments
from minipod.replicas import ReplicasDiffer, same_replicas
jax.distributed.initialize(**launch_arguments())
me = jax.process_index()
everywhere = jax.NamedSharding(jax.make_mesh((jax.device_count(),), ("i",)), P())
make = jax.make_array_from_process_local_data
def told(tree, name):
    try:
        same_replicas(tree, name)
        print("the same")
    except ReplicasDiffer as error:
        print(error)
"""


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    """What each of two processes with two devices prints."""

    def run(program: str) -> list[str]:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "p.py").write_text(TOGETHER + program)
        return cluster.run("p.py", devices=2, limit=60).outputs

    return run


def test_replicas_that_agree_are_left_alone(outputs):
    said = outputs(
        "told({'w': make(everywhere, np.ones(3)), 'k': jax.random.key(1)}, 'a')\n"
        "told(make(jax.NamedSharding(everywhere.mesh, P('i')), np.full(2, me)), 'b')\n"  # cut: nothing lies twice
        "told(jax.numpy.full(3, me), 'c')\n"  # each process's own
    )
    assert said == ["the same\n" * 3] * 2


def test_a_process_with_other_values_is_named_though_jax_calls_the_array_replicated(outputs):
    said = outputs(
        "w = make(everywhere, np.float32([1, 2 + 1e-6 * me]))\nprint(w.is_fully_replicated)\ntold({'w': w}, 'state')\n"
    )
    message = (
        "state['w'][:] should be the same everywhere, and is not: "
        "process 0 (device 0) holds other values than process 1 (device 2048)"
    )
    assert said == [f"True\n{message}\n"] * 2


def test_parts_of_a_model_axis_across_processes_are_compared_where_they_should_agree(outputs):
    said = outputs(
        "mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2).T, ('data', 'model'))\n"
        "told(make(jax.NamedSharding(mesh, P('data')), np.arange(4.0) + 9 * me * np.arange(4)), 'x')\n"
        "told(make(jax.NamedSharding(mesh, P('data')), np.arange(4.0)), 'y')\n"
    )
    assert said[0] == said[1]
    assert said[0].splitlines()[0].startswith("x[0:2] should be the same everywhere")
    assert said[0].splitlines()[1] == "the same"


def test_a_process_that_compares_something_else_is_named(outputs):
    said = outputs(
        "from minipod.guard import OutOfStep\n"
        "try:\n    same_replicas(make(everywhere, np.ones(3 + me)), 'w')\n"
        "except OutOfStep as error:\n    print(error)\n"
    )
    words = "call 1: process 0 calls same_replicas of w (x (3,) float32); "
    assert said == [words + "process 1 calls same_replicas of w (x (4,) float32)\n"] * 2


def test_alone_the_devices_of_one_process_are_compared():
    mesh = jax.make_mesh((8,), ("i",))
    one = [jax.device_put(np.float32([k == 5]), device) for k, device in enumerate(mesh.devices.flat)]
    x = jax.make_array_from_single_device_arrays((1,), jax.NamedSharding(mesh, P()), one)
    with pytest.raises(ReplicasDiffer, match=r"x\[:\].*process 0 \(device 0\) .* process 0 \(device 5\)$"):
        same_replicas(x, "x")
    same_replicas(jax.device_put(np.ones(8), jax.NamedSharding(mesh, P("i"))), "y")
