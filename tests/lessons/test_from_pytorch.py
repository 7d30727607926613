"""Chapter 23: its twin has PyTorch's losses, and its table of who sums is what JAX does."""

import importlib
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
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
