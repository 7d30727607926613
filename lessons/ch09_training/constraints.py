"""The same step for the compiler to cut: only layouts are asked for."""

import jax
from adam import adam
from jax import P, lax
from model import loss


def by_constraints(specs, **keep):
    """The step, on the mesh of Auto axes that is set; specs as for parallel,
    keep as for loss."""

    def at(x, *spec):
        return lax.with_sharding_constraint(x, P(*spec))

    def whole(name, w):
        spec = [None if axis == "data" else axis for axis in specs[name]]
        return at(w, *spec[len(spec) - w.ndim :])

    def total(x):
        return at(x, "data")

    def step(state, tokens):
        args = state["p"], tokens, whole, total
        value, gradient = jax.value_and_grad(loss)(*args, **keep)
        return adam(state, gradient), value

    return step
