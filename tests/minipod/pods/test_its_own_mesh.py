"""A program that makes its own mesh, in each of the ways that people have, fits or not: needs no libtpu."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.experimental import mesh_utils
from jax.sharding import Mesh

from minipod.pods import absent, compile_process, largest
from minipod.pods.on_slice import on_slice

PROGRAM = """
import jax, jax.numpy as jnp
from jax import NamedSharding, P
def made():
    mesh = jax.make_mesh((4, 2), ("rows", "columns"), (jax.sharding.AxisType.Auto,) * 2)
    at = NamedSharding(mesh, P("rows"))
    given, f = {}, jnp.tanh
    {how}
    return jax.jit(f, **given), (x,)
"""


def test_every_way_to_make_a_mesh_has_the_devices_of_the_slice_or_slices():
    with on_slice(there := absent.devices("v5p:2x2x2")):
        for made in (
            jax.devices(),
            jax.devices("tpu"),
            jax.make_mesh((8,), ("data",)).devices,
            mesh_utils.create_device_mesh((jax.device_count(),)),
            mesh_utils.create_device_mesh((8,), devices=jax.devices()),
        ):
            assert {*Mesh(np.array(made), ("data",)).devices.flat} == {*there}
    with on_slice(there := absent.devices("2xv5e:2x2")):
        found = mesh_utils.create_hybrid_device_mesh((2, 2), (2, 1))
    assert found.shape == (4, 2) and {*found.flat} == {*there}


@pytest.mark.parametrize(
    "how",
    [
        "x = jax.ShapeDtypeStruct((8, 16), 'f4', sharding=at)",
        "x, given = jax.ShapeDtypeStruct((8, 16), 'f4'), {'in_shardings': at}",
        "x, f = jax.ShapeDtypeStruct((8, 16), 'f4'), lambda x: jax.lax.with_sharding_constraint(x, at)",
    ],
)
def test_what_does_not_fit_says_its_mesh(how, tmp_path: Path, monkeypatch):
    """As XLA raises it for a TPU; the simulated devices here have room."""

    def full(*_, **__):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: it is too much")

    monkeypatch.setattr(jax.stages.Lowered, "compile", full)
    monkeypatch.setattr(compile_process, "topology_devices", lambda *_: jax.devices())
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "its_own", None)
    (program := tmp_path / "its_own.py").write_text(PROGRAM.replace("{how}", how))
    of = {"platform": "tpu", "topology": "v5e:2x4", "options": {}, "xla": {}, "text": "", "save": None}
    of |= {"file": str(program), "name": "made", "on": "v5e:2x4", "axes": None, "types": []}
    answer = compile_process.of_file(lambda *_: None, **of)
    assert answer.keys() >= {"full", "largest"} and answer["axes"] == {"rows": 4, "columns": 2}, answer
    assert {*answer["devices"]} == {d.id for d in jax.devices()}


def test_values_stand_before_the_arguments_that_are_smaller_than_their_share():
    x, b = jax.ShapeDtypeStruct((1024,), jax.numpy.float32), jax.ShapeDtypeStruct((100,), jax.numpy.float32)
    traced = jax.jit(lambda x, b: (x[:, None] + x).sum() + b).trace(x, b)
    found = largest.values((x, b), traced.jaxpr, 8)
    sizes = [(each["bytes"], each["whole"]) for each in found["largest"]]
    assert found["arguments"] == 4 * 1124
    assert sizes == [(4 * 1024**2, True), (4 * 1024, False), (4 * 100, False)]
