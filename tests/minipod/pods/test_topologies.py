"""Devices and meshes that are not here, against those of libtpu and JAX themselves: one child asks for all of them."""

import json
import os
import subprocess
import sys

import pytest

from minipod import pods
from minipod.pods import compiler

pytestmark = pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")

NAMES = "v5e:1x1 v5e:4x8 v4:2x2x4 v5p:4x4x12 v6e:8x8 7x:2x2x2 2xv5e:4x4 3xv4:2x2x2 2x7x:2x2x1 4xv5e:1x1".split()
NAMES += "v5p:16x16x24 v5p:16x20x28 v4:16x16x16 7x:16x24x24 v6e:16x16 v5e:16x16".split()
SPLIT = [  # axes that take no whole axes of the torus, and over how many slices each goes
    ("v5e:4x4", (2, 8), (1, 1)),
    ("v5e:4x4", (8, 2), (1, 1)),
    ("v5e:2x4", (2, 2, 2), (1, 1, 1)),
    ("v5p:4x4x12", (6, 32), (1, 1)),
    ("v6e:8x8", (32, 2), (1, 1)),
    ("2xv5e:4x4", (2, 2, 8), (2, 1, 1)),
    ("2xv5e:4x4", (16, 2), (2, 1)),
]
ASK = """
import json, os, sys
from jax.experimental import mesh_utils, topologies
names, split = json.loads(sys.argv[1]), json.loads(sys.argv[2])
there = {n: topologies.get_topology_desc(platform="tpu", topology_name=t, **o).devices for n, (t, o) in names.items()}
seen = {n: [[d.id, list(d.coords), d.core_on_chip, d.process_index, getattr(d, "slice_index", 0), d.device_kind]
            for d in devices] for n, devices in there.items()}
laid = []
for name, axes, over in split:
    inside = [size // n for size, n in zip(axes, over)]
    if max(over) > 1:
        grid = mesh_utils.create_hybrid_device_mesh(inside, over, there[name], allow_split_physical_axes=True)
    else:
        grid = mesh_utils.create_device_mesh(axes, there[name], allow_split_physical_axes=True)
    laid.append([d.id for d in grid.flat])
print(json.dumps([seen, laid]), flush=True)
os._exit(0)
"""


@pytest.fixture(scope="module")
def asked():
    found = {name: pods.slice_of(name) for name in {*NAMES, *(name for name, *_ in SPLIT)}}
    told = json.dumps({name: (each.topology, each.options) for name, each in found.items()})
    settings = os.environ | {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
    command = [sys.executable, "-c", ASK, told, json.dumps(SPLIT)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_devices_are_those_of_libtpu(asked):
    for name in NAMES:
        ours = [
            [d.id, [*d.coords], d.core_on_chip, d.process_index, d.slice_index, d.device_kind]
            for d in pods.devices(name)
        ]
        assert ours == sorted(asked[0][name]), name


def test_an_axis_over_part_of_a_torus_axis_lies_where_jax_lays_it(asked):
    for (name, axes, _), theirs in zip(SPLIT, asked[1], strict=True):
        mesh = pods.mesh(name, **{f"axis{i}": size for i, size in enumerate(axes)})
        assert [d.id for d in mesh.devices.flat] == theirs, (name, axes)
