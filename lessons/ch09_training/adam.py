"""Adam, in what it does to each parameter."""

import jax
import jax.numpy as jnp


def start(params):
    """What training carries along: parameters, two averages each, a count."""
    zeros = jax.tree.map(jnp.zeros_like, params)
    return {"p": params, "m": zeros, "v": zeros, "n": jnp.float32(0)}


def adam(state, gradient, rate=0.003, b1=0.9, b2=0.99):
    """The next state, element by element: nobody needs to ask anybody."""
    tree, n = jax.tree, state["n"] + 1
    m = tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["m"], gradient)
    v = tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state["v"], gradient)

    def move(p, m, v):
        return p - rate * m / (1 - b1**n) / (jnp.sqrt(v / (1 - b2**n)) + 1e-8)

    return {"p": tree.map(move, state["p"], m, v), "m": m, "v": v, "n": n}
