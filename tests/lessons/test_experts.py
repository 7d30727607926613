"""Chapter 21: its router computes in f32, and what the page says of places and of the balance loss."""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax


@pytest.fixture
def programs(lesson):
    return lesson("ch21_experts", "chosen", "packed")


def test_bf16_tokens_choose_the_experts_of_the_same_numbers_in_f32(programs):
    chosen, packed = programs
    w = jax.tree.map(lambda a: a.astype("bfloat16"), chosen.drawn(jax.random.key(0), 256, 8, 16))
    x = jax.random.normal(jax.random.key(1), (512, 256), "bfloat16")
    p, gate, who = chosen.route(x, w["router"])
    exact = jax.tree.map(np.float64, (x, w["router"]))
    logits = exact[0] @ exact[1]
    wanted = np.argsort(-logits, axis=1)[:, :2]
    assert (who == wanted).all() and abs(gate.sum(1) - 1).max() < 1e-6
    others = lax.top_k(jax.nn.softmax(x @ w["router"]), 2)[1]
    assert (others != wanted).any(), "the page says that some tokens choose other experts in bf16"
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    f = np.bincount(wanted.reshape(-1), minlength=16) / wanted.size
    assert packed.balance(p, who) == pytest.approx(16 * f @ shares.mean(0), rel=1e-5)
    assert packed.experts(w, x, 80)[0].dtype == chosen.alone(w, x).dtype == x.dtype


def test_a_balance_loss_may_be_less_than_1(programs):
    _, packed = programs
    p = jnp.array([[0.51, 0.49]] * 6 + [[0.0, 1.0]] * 4)
    assert packed.balance(p, jnp.argmax(p, 1)[:, None]) == pytest.approx(0.9224)


def test_a_few_tokens_have_at_least_one_place(programs):
    chosen, packed = programs
    assert packed.places(1.25, 2, 16) == 1 and packed.places(1.25, 32, 16) == 5
    w, x = chosen.drawn(jax.random.key(0), 4, 4, 16), jnp.ones((1, 4))
    np.testing.assert_allclose(packed.experts(w, x, packed.places(1.25, 1, 16))[0], chosen.alone(w, x), rtol=1e-5)


def test_jax_has_kernels_for_grouped_products():
    for name in ("tpu.megablox.gmm", "gpu.ragged_dot_mgpu"):
        assert importlib.util.find_spec(f"jax.experimental.pallas.ops.{name}"), name
