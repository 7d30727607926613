"""The same step for the compiler to cut: only layouts are asked for."""

import jax
from adam import adam
from jax import NamedSharding, P, lax
from model import loss


def by_constraints(mesh, specs):
    """The step for a mesh of Auto axes; specs as in parallel.py."""

    def at(x, *spec):
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def whole(name, w):
        spec = [None if axis == "data" else axis for axis in specs[name]]
        return at(w, *spec[len(spec) - w.ndim :])

    def total(x):
        return at(x, "data")

    def step(state, tokens):
        args = state["p"], tokens, whole, total
        value, gradient = jax.value_and_grad(loss)(*args)
        return adam(state, gradient), value

    return step
