"""The step on eight simulated devices: the numbers of one device, and what it sends and keeps."""

import jax
import numpy as np
import pytest
from common import SETTINGS, trained
from flax import nnx
from minipod.testing import assert_memory, assert_traffic

from byte_lm.layouts import make_mesh
from byte_lm.model import BYTES
from byte_lm.training import Training

F32 = 4  # bytes


@pytest.mark.devices(8, seconds=300)  # for compilations on a busy machine
def test_every_mesh_trains_as_one_device_does():
    _, expected = trained(make_mesh(1))
    assert expected[-1] < expected[0] - 1
    for sizes in {"data": 8}, {"data": 2, "model": 4}:
        _, found = trained(make_mesh(**sizes))
        np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=str(sizes))


def parameters(training: Training) -> tuple[list[int], list[int]]:
    """Bytes of each parameter that is cut along "data", and of each that all devices have whole."""
    state, _ = training.described()
    leaves = jax.tree.leaves(nnx.filter_state(state, nnx.Param))
    cut = [F32 * x.size for x in leaves if "data" in x.sharding.spec]
    return cut, [F32 * x.size for x in leaves if "data" not in x.sharding.spec]


@pytest.mark.devices(8, seconds=300)
def test_fsdp_gathers_each_weight_once_and_sums_each_gradient_once():
    training = Training(SETTINGS, make_mesh(8))
    cut, whole = parameters(training)
    # To clip, the sum of squares of each gradient that is cut; and the loss: one number each.
    summed = sum(cut) + sum(whole) + F32 * (len(cut) + 1)
    # On a ring of 8 a device sends 7/8 of what is gathered, and twice 7/8 of what is summed: XLA for CPUs sums with
    # all-reduces, where reduce-scatters, half of that, would do (for TPUs it uses some: tests/plans/test_pod.json).
    sent = 7 * (sum(cut) + 2 * summed) // 8
    assert_traffic(training.step, *training.described(), sent=sent, only={"all-gather", "all-reduce"})


@pytest.mark.devices(8, seconds=300)
def test_tensor_parallelism_sums_what_flows_between_layers():
    training, sizes = Training(SETTINGS, make_mesh(2, 4)), SETTINGS.sizes
    positions = SETTINGS.batch // 2 * sizes.length
    flowing = F32 * positions * sizes.width
    # Forward after attention and after the MLP; backward before both; backward before the logits.
    often = 4 * sizes.layers + 1
    # The softmax over bytes that are cut: the largest, two sums, and a sum backward, a number for each position.
    softmax = 4 * F32 * positions
    # To clip, of each gradient that is cut along "model": qkv, out, up, down, and the logits.
    norms = F32 * (4 * sizes.layers + 1)
    sent = 2 * 3 * (often * flowing + softmax + norms) // 4
    assert_traffic(training.step, *training.described(), sent=sent, along="model", only={"all-reduce"})


@pytest.mark.devices(8, seconds=300)
def test_a_device_keeps_an_eighth():
    training = Training(SETTINGS, make_mesh(8))
    cut, whole = parameters(training)
    state = 3 * (sum(cut) // 8 + sum(whole))  # the parameter and Adam's two moments
    counts = 3 * 4  # of steps: NNX's, Adam's, the schedule's
    tokens = SETTINGS.batch // 8 * (SETTINGS.sizes.length + 1) * 4
    # A ceiling, no exact formula. Of each position: what flows, q, k and v; the scores twice; four times the hidden
    # units; six times the bytes that may follow (logits, right ones, logs, exponentials, two gradients). And each
    # weight gathered, with its gradient.
    rows, sizes = SETTINGS.batch // 8, SETTINGS.sizes
    each = 10 * sizes.width + 2 * sizes.heads * sizes.length + 4 * sizes.hidden + 6 * BYTES
    kept = F32 * rows * sizes.length * each + 2 * sum(cut)
    assert_memory(training.step, *training.described(), arguments=state + counts + tokens, temporary=kept)
