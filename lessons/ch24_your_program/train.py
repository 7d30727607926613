"""Trains on all devices of all processes, from the newest checkpoint on."""

from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P, lax
from jax.sharding import AxisType


def whole_mesh():
    return jax.make_mesh((jax.device_count(),), ("data",), (AxisType.Auto,))


def start():
    a, b = jax.random.split(jax.random.key(0))
    w = {"up": jax.random.normal(a, (16, 64)) / 4}
    w["down"] = jax.random.normal(b, (64, 16)) / 8
    return {"w": w, "momentum": jax.tree.map(jnp.zeros_like, w)}


def rows(i, mesh):
    """f32[64, 16], the rows of step i, cut along "data"."""
    x = np.random.default_rng(i).normal(size=(64, 16)).astype(np.float32)
    at = NamedSharding(mesh, P("data"))
    return jax.make_array_from_callback(x.shape, at, lambda part: x[part])


def loss(w, x):
    y = jnp.tanh(x @ w["up"]) @ w["down"]
    return jnp.mean((y - x[:, ::-1]) ** 2)


def update(state, g):
    """Momentum, with the norm of the whole gradient cut to 0.1."""
    norm = jnp.sqrt(sum(jnp.vdot(x, x) for x in jax.tree.leaves(g)))
    scale = jnp.minimum(1, 0.1 / norm)
    m = jax.tree.map(lambda m, x: 0.9 * m + scale * x, state["momentum"], g)
    w = jax.tree.map(lambda w, m: w - m, state["w"], m)
    return {"w": w, "momentum": m}


def step(state, x, mesh):
    """A step on all rows, of which each device has some: (state, loss)."""

    def local(state, x):
        w = lax.pcast(state["w"], "data", to="varying")
        value, g = lax.pmean(jax.value_and_grad(loss)(w, x), "data")
        return update(state, g), value

    specs = {"in_specs": (P(), P("data")), "out_specs": P()}
    return jax.shard_map(local, mesh=mesh, **specs)(state, x)


def newest(folder, state):
    """(state, step to begin with) of the newest checkpoint, if there is one."""
    if not (found := sorted(Path(folder).glob("[0-9]*.npz"))):
        return state, 0
    with np.load(found[-1]) as kept:
        leaves = [kept[name] for name in kept.files]
    state = jax.tree.unflatten(jax.tree.structure(state), leaves)
    return state, int(found[-1].stem)


def save(folder, state, i):
    if jax.process_index() == 0:
        with open(Path(folder) / "begun", "wb") as file:
            np.savez(file, *jax.tree.leaves(jax.device_get(state)))
        Path(file.name).rename(Path(folder) / f"{i:06}.npz")


def train(folder, steps, mesh, begin=lambda i: None):
    """The losses of the steps done here. begin(i) is called before step i."""
    state, first = newest(folder, start())
    state = jax.device_put(state, NamedSharding(mesh, P()))
    run, losses = jax.jit(partial(step, mesh=mesh)), []
    for i in range(first, steps):
        begin(i)
        state, value = run(state, rows(i, mesh))
        losses.append(float(value))
        if (i + 1) % 4 == 0:
            save(folder, state, i + 1)
    return losses
