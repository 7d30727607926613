"""Chapter 23: its twin has PyTorch's losses, and its table of who sums is what JAX does."""

import importlib
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import P, lax

LESSON = Path(__file__).resolve().parents[2] / "lessons/ch23_from_pytorch"


@pytest.fixture
def programs(monkeypatch):
    """twin.py and rows.py, imported as the page's cells do."""
    monkeypatch.syspath_prepend(str(LESSON))
    yield tuple(map(importlib.import_module, ("twin", "rows")))
    for name in "twin", "rows":
        sys.modules.pop(name, None)


def test_in_f64_the_twin_has_pytorchs_losses(programs):
    twin, rows = programs
    with jax.enable_x64(True):
        there = np.load(LESSON / "start.npz")
        w = {n: jnp.asarray(x, "float64") for n, x in twin.taken(there).items()}
        state, run = (w, twin.optimizer().init(w)), jax.jit(twin.step)
        for i, theirs in enumerate(rows.recorded["losses"]["f64"][:8]):
            state, value = run(state, rows.batch(i))
            assert float(value) == pytest.approx(theirs, rel=1e-13)


def losses(twin, rows, dtype, **how):
    """Of the twin's forty steps."""
    w = {n: jnp.asarray(x, dtype) for n, x in twin.taken(np.load(LESSON / "start.npz")).items()}
    state, run = (w, twin.optimizer().init(w)), jax.jit(partial(twin.step, how=twin.How(**how)))
    values = []
    for i in range(40):
        state, value = run(state, rows.batch(i))
        values.append(float(value))
    return np.array(values)


@pytest.mark.parametrize("own", [True, False])
def test_with_sums_in_f32_bf16_is_as_near_as_pytorchs_two_dtypes(programs, monkeypatch, own):
    twin, rows = programs

    def linear(w, name, x, how):
        a, b = w[f"{name}.weight"].astype(how.half), w[f"{name}.bias"]
        return (jnp.matmul(x.astype(how.half), a, preferred_element_type=jnp.float32) + b).astype(how.half)

    monkeypatch.setattr(twin, "linear", linear)
    theirs = {kind: np.array(rows.recorded["losses"][kind]) for kind in ("bf16", "f32")}
    off = abs(losses(twin, rows, "float32", half="bfloat16", own=own) / theirs["bf16"] - 1)
    assert off.max() < 2 * abs(theirs["bf16"] / theirs["f32"] - 1).max()


def test_the_first_three_gradients_are_not_clipped(programs):
    twin, rows = programs
    w = {n: jnp.asarray(x) for n, x in twin.taken(np.load(LESSON / "start.npz")).items()}
    state, run = (w, twin.optimizer().init(w)), jax.jit(twin.step)
    gradient = jax.jit(jax.grad(lambda w, tokens: twin.loss(w, tokens.reshape(-1, tokens.shape[-1]))))
    norms = []
    for i in range(4):
        norms.append(float(optax.tree.norm(gradient(state[0], rows.batch(i)))))
        state, _ = run(state, rows.batch(i))
    assert [norm < 0.5 for norm in norms] == [True, True, True, False]


def found(check_vma, cast, of, n=4):
    """(m, "all" or "own"), seen: device i has the row i + 1, and its loss is w times that."""
    mesh = jax.make_mesh((n,), ("data",), devices=jax.devices()[:n])
    collective = {"pmean": lax.pmean, "psum": lax.psum}

    def local(w, x):
        w = lax.pcast(w, "data", to="varying") if cast else w

        def loss(w):
            return collective[of](w * x[0], "data") if of != "loss" else w * x[0]

        return (jax.grad(loss)(w) + 0 * x[0])[None]

    specs = {"in_specs": (P(), P("data")), "out_specs": P("data")}
    f = jax.shard_map(local, mesh=mesh, check_vma=check_vma, **specs)
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
