"""The page «axes»: one model is cut in six ways, and what each way sends is what a formula says, row by row."""

from functools import partial
from math import ceil
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_meshes import SOON, mesh_of

from minipod.pods import recorded

LESSON = Path(__file__).resolve().parents[2] / "lessons/axes"
CUTS = ("data=2,fsdp=2,expert=2", "stage=2,sequence=2,tensor=2")  # each axis once
MORE = (
    "data=4", "fsdp=4", "tensor=4", "sequence=4", "expert=4", "stage=4", "data=2,fsdp=2,tensor=2", "fsdp=4,sequence=2",
    "stage=2,fsdp=4", "expert=4,tensor=2",
)  # fmt: skip


@pytest.mark.parametrize("cut", [*CUTS, *(pytest.param(cut, marks=pytest.mark.long) for cut in MORE)])
def test_all_axes_cut_the_same_step(cut, lesson):
    """New weights and loss are those of one device; a room of 8 drops no choice of the 8 experts."""
    one_model = lesson("axes", "one_model")
    axes = {name: int(size) for name, size in (pair.split("=") for pair in cut.split(","))}
    experts = "expert" in axes
    small = {"layers": 4, "width": 16, "heads": 8, "groups": 4, "hidden": 32, "rows": 8, "length": 16, "room": 8.0}
    sizes = one_model.Sizes(**small, dtype=jnp.float32, gated=len(axes) > 1)
    rng = np.random.default_rng(0)  # JAX's own would be compiled for each shape
    w = {k: rng.normal(size=shape).astype(np.float32) / 4 for k, shape in sizes.shapes(experts).items()}
    x = rng.normal(size=(sizes.rows, sizes.length, sizes.width)).astype(np.float32)
    mesh = mesh_of(**axes)
    step, places = one_model.program(mesh, sizes, experts)
    given = jax.tree.map(lambda a, like: jax.device_put(a, like.sharding), (w, x), places)
    one = jax.jit(partial(one_model.update, room=sizes.room), compiler_options=SOON)
    (weights, loss), found = one(w, x), step.lower(*given).compile(SOON)(*given)
    for name in w:
        np.testing.assert_allclose(found[0][name], weights[name], rtol=0, atol=1e-5)
        assert np.abs(weights[name] - w[name]).max() > 1e-4, "weights that do not move would agree, too"
    assert abs(found[1] - loss) < 1e-5 * loss


LAYERS, WIDTH, TOKENS, N = 8, 4096, 8 * 2048, 4  # of the whole batch, devices
KV = TOKENS * 2 * 8 * 128 * 2  # bytes of a layer's keys and values: 8 heads of 128
ATTENTION = WIDTH * (WIDTH + 2 * 1024 + WIDTH)  # parameters of a layer
MLP = 2 * WIDTH * 16384
WEIGHTS = 2 * LAYERS * (ATTENTION + MLP)  # bytes
ACTIVATION = 2 * TOKENS * WIDTH
BOX = 2 * 8 * ceil(1.25 * TOKENS / N * 2 / 8) * WIDTH  # 8 experts, their places on one device
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
    product = 2 * TOKENS // N * WIDTH * 16384 * LAYERS  # FLOPs of the MLP's up, or down, forward, on one device
    dense, sparse = (sum(near[axis].flops.values()) for axis in ("data", "expert"))
    # Forward, recomputed and backward: seven products of the MLP, eight of the experts, whose down is recomputed, too.
    assert sparse - dense == pytest.approx(7 * 0.25 * product + 1.25 * product, rel=0.001)
    assert [round(100 * part / dense) for part in (sparse - dense, 1.75 * product, 1.25 * product)] == [29, 17, 12]
