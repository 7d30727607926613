"""What cannot be drawn is answered with one sentence, of the kind of error that it is."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P
from picture_gallery import PARAMS, Device, mesh, on, predict, ring

from minipod import pictures, pods, traffic

TABLE = "expected a table: a row for each tick, with a label for each stage"
MISTAKES = [
    # sharding, mesh, devices
    (lambda: pictures.sharding(np.zeros(8)), TypeError, "jax.numpy.asarray"),
    (lambda: jax.jit(pictures.sharding)(jnp.zeros(8)), TypeError, "outside jit"),
    (lambda: pictures.sharding(P("x"), (8,)), TypeError, "NamedSharding"),
    (lambda: pictures.sharding(on(mesh(8), "x")), TypeError, "shape"),
    (lambda: pictures.sharding(on(mesh(8), None, "x"), (8, 9)), ValueError, "P(None, 'x')"),
    (lambda: pictures.sharding(on(mesh(2, 4), "x", "y"), (8,)), ValueError, "does not fit"),
    (lambda: pictures.sharding(jnp.zeros(8), (4,)), ValueError, "leave shape out"),
    (lambda: pictures.sharding(jax.ShapeDtypeStruct((8,), "f4")), TypeError, "expected a jax.Array"),
    (lambda: pictures.sharding(NamedSharding(AbstractMesh((8,), ("x",)), P("x")), (8,)), TypeError, "Mesh"),
    (lambda: pictures.mesh(AbstractMesh((8,), ("x",))), TypeError, "no devices"),  # type: ignore
    (lambda: pictures.devices(jax.devices()[0]), TypeError, "a list"),
    (lambda: pictures.load("nowhere.svg"), FileNotFoundError, "no file"),
    (lambda: pictures.load(__file__), ValueError, "Picture.save"),
    # flow, calls
    (lambda: pictures.flow(predict), ValueError, "needs at least one argument"),
    (lambda: pictures.flow(predict, PARAMS, np.zeros((8, 3)), in_axes=(0,)), ValueError, "2 arguments"),
    (lambda: pictures.flow(predict, PARAMS, np.zeros(3), in_axes=None), ValueError, "must be split"),
    (lambda: pictures.flow(predict, PARAMS, np.zeros((8, 3))), ValueError, "[3, 8]"),
    (lambda: pictures.flow(predict, PARAMS, np.zeros(8), in_axes=({"v": 0}, 0)), ValueError, "structure"),
    (lambda: pictures.calls([[], []]), ValueError, "no call to draw"),
    (lambda: pictures.calls([["a"] * 13]), ValueError, "13 calls of a process cannot be drawn"),
    # traffic
    (lambda: pictures.traffic(traffic.table([]), mesh(8)), TypeError, "minipod.traffic.of returns"),  # type: ignore
    (lambda: pictures.traffic(ring(mesh(8), "x"), mesh(8)), TypeError, "the list"),  # type: ignore
    (lambda: pictures.traffic([ring(mesh(8), "x")], mesh(4)), ValueError, "the mesh has 4"),
    # curve
    (lambda: pictures.curve([1, 2]), TypeError, "curves by name"),  # type: ignore
    (lambda: pictures.curve({}), ValueError, "1 to 6"),
    (lambda: pictures.curve({"a": ["x"]}), TypeError, "'a' is not a list of numbers"),  # type: ignore
    (lambda: pictures.curve({"a": []}), ValueError, "at least one number"),
    (lambda: pictures.curve({"a": [math.nan]}), ValueError, "no finite value"),
    (lambda: pictures.curve({"a": [1, 2]}, x=[1, 2, 3]), ValueError, "2 values for 3 places"),
    (lambda: pictures.curve({"a": [1, 0]}, logy=True), ValueError, "logy needs numbers above 0"),
    (lambda: pictures.curve({"a": [1]}, dots={"b": [1]}), ValueError, "dots for 'b', but no line of that name"),
    (lambda: jax.jit(lambda x: pictures.curve({"one device": x}).alt)(jnp.ones(3)), TypeError, "outside jit"),
    # torus, plans, ring, halves
    (lambda: pictures.torus(mesh(8)), ValueError, "no coordinates"),
    (lambda: pictures.torus(pods.mesh("2xv5e:2x2", replica=2, data=4)), ValueError, "these devices lie on 2 slices"),
    (lambda: pictures.torus(pods.mesh("v5e:16x16", x=256)), ValueError, "16x16 chips cannot be drawn: at most 8x8x4"),
    (lambda: pictures.plans([1]), TypeError, "list of plans"),  # type: ignore
    (lambda: pictures.ring([1, 2]), TypeError, "expected a list of devices"),  # type: ignore
    (lambda: pictures.ring([Device(i, 0) for i in range(17)]), ValueError, "2 to 16"),
    (lambda: pictures.ring([Device(i, i) for i in range(3)]), ValueError, "at most 2 hosts can"),
    (lambda: pictures.all_reduce(6), ValueError, "an all-reduce of 6 devices cannot be drawn: choose 2 to 5"),
    # profile, schedule
    (lambda: pictures.profile([1, 2]), TypeError, "expected a profile, such as minipod.profiles.read returns"),
    (lambda: pictures.schedule([["F0", ""], ["B0"]]), ValueError, TABLE),
    (lambda: pictures.schedule([["G0"]]), ValueError, '\'G0\' is not a label: write "F3", "B3" or "F3b"'),
    (lambda: pictures.schedule([["F0"] * 17]), ValueError, "17 stages and 1 tick cannot be drawn: up to 16 and 64"),
    # player
    (lambda: pictures.Trace(2).step("a", [["1"]]), ValueError, "2 lists, one per device"),
    (lambda: pictures.Trace(1).step("a", [["1"]], [pictures.Move(0, 1)]), ValueError, "devices 0 to 0"),
    (lambda: pictures.play(pictures.Trace(2)), ValueError, "note one first"),
    (lambda: pictures.play("abc"), TypeError, "a table of ticks"),
    (lambda: pictures.play([["a", "b"], ["a"]]), ValueError, "every stage"),
    (lambda: pictures.Timeline(["a"]).span(1, 0, 1), ValueError, "a lane from 0 to 0"),
]


@pytest.mark.parametrize(("call", "kind", "word"), MISTAKES)
def test_a_mistake_is_answered_with_one_sentence(call, kind, word):
    with pytest.raises(kind) as caught:
        call()
    said = str(caught.value)
    assert word in said and "\n" not in said and len(said) < 300 and not said.endswith(".")
