"""The page «axes»: one model is cut in six ways, and what each way sends is what a formula says, row by row."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minipod.pods import recorded

ROOT = Path(__file__).resolve().parents[2]
LESSON = ROOT / "lessons" / "axes"

SMALL = """
import dataclasses, json, sys
sys.path.insert(0, {lesson!r})
from minipod import devices
devices.simulate(4)
import jax, jax.numpy as jnp, numpy as np
import six

sizes = six.Sizes(layers=4, width=16, heads=8, groups=4, hidden=32, rows=8, length=16, experts=8, room=8.0,
                  dtype=jnp.float32)
shapes = sizes.shapes({experts})
keys = jax.random.split(jax.random.key(0), len(shapes))
w = {{n: np.asarray(jax.random.normal(k, s)) / 4 for k, (n, s) in zip(keys, shapes.items())}}
x = np.asarray(jax.random.normal(jax.random.key(1), (sizes.rows, sizes.length, sizes.width)))
axis = {axis!r}
mesh = jax.make_mesh((4,), (axis,), (jax.sharding.AxisType.Auto,))
step, places = six.program(mesh, axis, sizes)
given = jax.tree.map(lambda a, like: jax.device_put(a, like.sharding), (w, x), places)
truth, found = six.update(w, x, room=sizes.room), step(*given)
off = jax.tree.map(lambda a, b: float(np.abs(np.asarray(a) - np.asarray(b)).max()), truth, found)
moved = jax.tree.map(lambda a, b: float(np.abs(np.asarray(a) - np.asarray(b)).max()), truth[0], w)
print(json.dumps([max(off[0].values()), off[1], min(moved.values()), float(truth[1])]))
"""


@pytest.mark.parametrize("axis", ["data", "fsdp", "tensor", "sequence", "expert", "stage"])
def test_every_axis_cuts_the_same_step(axis):
    """New weights and loss are those of one device; a room of 8 drops no choice of the 8 experts."""
    code = SMALL.format(lesson=str(LESSON), axis=axis, experts=axis == "expert")
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    off, of_loss, least, loss = json.loads(run.stdout.splitlines()[-1])
    assert off < 1e-5 < 1e-4 < least, "weights that do not move would agree, too"
    assert of_loss < 1e-5 * loss
