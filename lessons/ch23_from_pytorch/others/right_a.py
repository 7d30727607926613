"""ch23_from_pytorch solved another way: by regular expression, by running, by counting, by the compiler."""

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax


def from_state_dict(there, tables):
    linear = {n for n, w in there.items() if np.ndim(w) == 2} - set(tables)
    there = {
        n: np.swapaxes(w, 0, 1) if n in linear else w for n, w in there.items()
    }
    inner = {n: re.fullmatch(r"blocks\.(\d+)\.(.+)", n) for n in there}
    count = sum(
        m is not None and m[2] == next(f[2] for f in inner.values() if f)
        for m in inner.values()
    )
    names = {m[2] for m in inner.values() if m}
    blocks = {
        n: np.array([there[f"blocks.{i}.{n}"] for i in range(count)])
        for n in names
    }
    return {n: w for n, w in there.items() if not inner[n]} | {"blocks": blocks}


def multiple(check_vma, cast, of, then, n):
    """By an experiment: device i has the row i + 1, the loss is w times it."""
    if n > jax.device_count():
        import pytest

        pytest.skip("wants devices")
    mesh = jax.make_mesh((n,), ("data",), devices=jax.devices()[:n])
    reduce = {"pmean": lax.pmean, "psum": lax.psum}

    def local(w, x):
        w = lax.pcast(w, "data", to="varying") if cast else w

        def loss(w):
            found = w * x[0]
            return reduce[of](found, "data") if of in reduce else found

        g = jax.grad(loss)(w)
        g = reduce[then](g, "data") if then in reduce else g
        return (g + 0 * x[0])[None]

    f = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P("data")),
        out_specs=P("data"),
        check_vma=check_vma,
    )
    rows = jax.device_put(
        jnp.arange(1.0, n + 1), jax.NamedSharding(mesh, P("data"))
    )
    g = np.asarray(f(1.0, rows))
    if np.allclose(g, g[0]):
        return float(g[0] / np.mean(np.arange(1, n + 1))), "all"
    return float(g[0]), "own"


def global_batch(order, step, processes, rows, micro):
    at = np.arange(micro * rows * processes).reshape(micro, rows, processes)
    at = at.transpose(0, 2, 1) + step * at.size
    return np.take(order, at, mode="wrap").reshape(micro, -1)


def clipped(grads, specs, most, mesh):
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in grads.values()))
    return jax.tree.map(lambda g: g * jnp.minimum(1, most / norm), grads)


def which_default(theirs, runs, rounding):
    theirs = np.asarray(theirs)
    fits = [
        n
        for n, r in runs.items()
        if (np.abs(np.array(r) - theirs) <= rounding * theirs).all()
    ]
    return fits[0] if fits else ""
