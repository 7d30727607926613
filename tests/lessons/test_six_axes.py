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
import one_model

sizes = one_model.Sizes(layers=4, width=16, heads=8, groups=4, hidden=32, rows=8, length=16, experts=8, room=8.0,
                  dtype=jnp.float32)
shapes = sizes.shapes({experts})
keys = jax.random.split(jax.random.key(0), len(shapes))
w = {{n: np.asarray(jax.random.normal(k, s)) / 4 for k, (n, s) in zip(keys, shapes.items())}}
x = np.asarray(jax.random.normal(jax.random.key(1), (sizes.rows, sizes.length, sizes.width)))
axis = {axis!r}
mesh = jax.make_mesh((4,), (axis,), (jax.sharding.AxisType.Auto,))
step, places = one_model.program(mesh, axis, sizes)
given = jax.tree.map(lambda a, like: jax.device_put(a, like.sharding), (w, x), places)
truth, found = one_model.update(w, x, room=sizes.room), step(*given)
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


LAYERS, WIDTH, TOKENS, N = 8, 4096, 8 * 2048, 4  # of the whole batch, devices
KV = TOKENS * 2 * 8 * 128 * 2  # bytes of a layer's keys and values: 8 heads of 128
ATTENTION = WIDTH * (WIDTH + 2 * 1024 + WIDTH)  # parameters of a layer
MLP = 2 * WIDTH * 16384
WEIGHTS = 2 * LAYERS * (ATTENTION + MLP)  # bytes
ACTIVATION = 2 * TOKENS * WIDTH
BOX = 2 * 8 * int(1.25 * TOKENS / N * 2 / 8) * WIDTH  # 8 experts, their places on one device
OTHERS = 2 * LAYERS * (ATTENTION + WIDTH * 8)  # and the router
BY_HAND = {
    "data": 2 * WEIGHTS * (N - 1) // N,
    "fsdp": 3 * WEIGHTS * (N - 1) // N,
    "tensor": 5 * LAYERS * 2 * ACTIVATION * (N - 1) // N,
    "sequence": (2 * WEIGHTS + 3 * LAYERS * KV) * (N - 1) // N,
    "expert": (6 * LAYERS * BOX + 2 * OTHERS) * (N - 1) // N,
    "stage": 2 * (8 + N - 1) * ACTIVATION // 8,
}
SLICES = "v5e:2x2", "4xv5e:1x1"


def plan(axis: str, on: str):
    (found,) = recorded.plans(LESSON, axis, on, **{axis: N})
    return found


@pytest.mark.parametrize("on", SLICES)
@pytest.mark.parametrize("axis", BY_HAND)
def test_what_a_plan_sends_is_what_the_formula_says(axis, on):
    """To the byte but for the sums of losses, and padding of the compiler's where FSDP scatters gradients."""
    found = plan(axis, on)
    more = found.sent[axis] - BY_HAND[axis]
    assert 0 <= more <= (0.006 * BY_HAND[axis] if axis == "fsdp" else 2000), f"{more:,} more"
    assert found.fits and not found.seconds.why


def test_the_page_says_what_the_plans_say():
    """What its sentences claim of the table: who is below its arithmetic where, who waits, who sends most and least."""
    near, far = ({axis: plan(axis, on) for axis in BY_HAND} for on in SLICES)
    assert WEIGHTS == 2_818_572_288 and ACTIVATION == 134_217_728 and ACTIVATION // 8 == 16 * 2**20
    assert max(BY_HAND, key=BY_HAND.get) == "tensor" and min(BY_HAND, key=BY_HAND.get) == "stage"
    assert all(p.seconds.network < p.seconds.compute for p in near.values())
    assert [a for a, p in far.items() if p.seconds.network < p.seconds.compute] == ["stage"]
    waits = {axis: p.estimate["for_network"] for axis, p in near.items()}
    assert waits["fsdp"] < waits["data"] < waits["tensor"]
    for axis in ("data", "tensor"):
        assert waits[axis] == pytest.approx(near[axis].seconds.network, rel=0.01)
    work = near["stage"].seconds.compute / near["data"].seconds.compute
    assert work == pytest.approx(11 / 8, rel=0.01)
    assert round(far["data"].seconds.network / near["data"].seconds.network) == 29
