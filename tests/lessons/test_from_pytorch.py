"""Chapter 23: its twin has PyTorch's losses, and its table of who sums is what JAX does."""

from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import P, lax
from small_meshes import SOON

LESSON = Path(__file__).resolve().parents[2] / "lessons/ch23_from_pytorch"


@pytest.fixture
def programs(lesson):
    """twin.py and rows.py, imported as the page's cells do."""
    return lesson("ch23_from_pytorch", "twin", "rows")


def trained(twin, rows, dtype, steps, **how):
    """The state and the loss after each step."""
    there = np.load(LESSON / "start.npz")
    w = {n: jnp.asarray(x, dtype) for n, x in twin.taken(there).items()}
    state, run = (w, twin.optimizer().init(w)), jax.jit(partial(twin.step, how=twin.How(**how)), compiler_options=SOON)
    for i in range(steps):
        state, value = run(state, rows.batch(i))
        yield state, float(value)


def test_in_f64_the_twin_has_pytorchs_losses_and_the_first_three_gradients_are_not_clipped(programs):
    twin, rows = programs
    with jax.enable_x64(True):
        before, clipped = 0.0, []
        for i, (state, value) in enumerate(trained(twin, rows, "float64", 8)):
            assert value == pytest.approx(rows.recorded["losses"]["f64"][i], rel=1e-13)
            moments = optax.tree.get(state[1], "mu")  # 0.9 times the last ones and 0.1 times what came of the gradient
            came = jax.tree.map(
                lambda new, old: 10 * new - 9 * old, moments, before or jax.tree.map(jnp.zeros_like, moments)
            )
            clipped.append(float(optax.tree.norm(came)) > 0.4999)
            before = moments
    assert clipped[:4] == [False, False, False, True]


@pytest.mark.long
@pytest.mark.parametrize("own", [True, False])
def test_with_sums_in_f32_bf16_is_as_near_as_pytorchs_two_dtypes(programs, monkeypatch, own):
    twin, rows = programs

    def linear(w, name, x, how):
        a, b = w[f"{name}.weight"].astype(how.half), w[f"{name}.bias"]
        return (jnp.matmul(x.astype(how.half), a, preferred_element_type=jnp.float32) + b).astype(how.half)

    monkeypatch.setattr(twin, "linear", linear)
    theirs = {kind: np.array(rows.recorded["losses"][kind]) for kind in ("bf16", "f32")}
    ours = [value for _, value in trained(twin, rows, "float32", 40, half="bfloat16", own=own)]
    assert abs(ours / theirs["bf16"] - 1).max() < 2 * abs(theirs["bf16"] / theirs["f32"] - 1).max()


def found(check_vma, cast, of, n=4):
    """(m, "all" or "own"), seen: device i has the row i + 1, and its loss is w times that."""
    mesh = jax.make_mesh((n,), ("data",), devices=jax.devices()[:n])

    def local(w, x):
        w = lax.pcast(w, "data", to="varying") if cast else w

        def loss(w):
            return w * x[0] if of == "loss" else getattr(lax, of)(w * x[0], "data")

        return (jax.grad(loss)(w) + 0 * x[0])[None]

    specs = {"in_specs": (P(), P("data")), "out_specs": P("data")}
    f = jax.jit(jax.shard_map(local, mesh=mesh, check_vma=check_vma, **specs))
    own = np.arange(1.0, n + 1)
    g = np.asarray(f(1.0, jax.device_put(own, jax.NamedSharding(mesh, P("data")))))
    if (g == g[0]).all():
        return g[0] / own.mean(), "all"
    assert np.allclose(g / own, g[0])
    return g[0], "own"


def test_who_sums_is_as_its_exercise_says():
    from lessons.ch23_from_pytorch.test_exercises import FOUND

    for (check_vma, cast, of), (m, whose) in FOUND.items():
        times, who = found(check_vma, cast, of)
        assert (round(float(times), 6), who) == ({"n": 4, "1": 1, "1/n": 0.25}[m], whose), (check_vma, cast, of)
