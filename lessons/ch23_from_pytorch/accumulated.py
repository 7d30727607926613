"""The gradient of several micro-batches: in the loop summed, or behind it?"""

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import AxisType
from who import loss

ROWS = P(None, "data")  # of [micro-batches, rows, …]
PARTS = P(None, None, reduced={"data"})
UNSUMMED = P(None, None, unreduced={"data"})


def in_turn(w, xs, zeros):  # the sum over the micro-batches
    def add(g, x):
        return g + jax.grad(loss)(w, x), None

    return lax.scan(add, zeros, xs)[0]


def plain(w, xs):
    return in_turn(w, xs, jnp.zeros_like(w)) / len(xs)


def invariant(w, xs):  # shard_map: w is everybody's, so each turn is summed
    return plain(w, xs) / lax.axis_size("data")


def copied(w, xs):  # shard_map: a w that is mine alone
    return lax.pmean(plain(lax.pcast(w, "data", to="varying"), xs), "data")


def reduced(w, xs):  # Explicit: the gradient of `reduced` is `unreduced`
    zeros = jax.reshard(jnp.zeros_like(w), UNSUMMED)
    g = in_turn(jax.reshard(w, PARTS), xs, zeros)
    return jax.reshard(g, P(None, None)) / len(xs)


WAYS = {  # name: the function, the axes of its mesh, whether for shard_map
    "jit, Auto": (plain, AxisType.Auto, False),
    "jit, Explicit": (plain, AxisType.Explicit, False),
    "jit, Explicit, w reduced": (reduced, AxisType.Explicit, False),
    "shard_map": (invariant, AxisType.Explicit, True),
    "shard_map, pcast w, pmean behind": (copied, AxisType.Explicit, True),
}


def program(name, mesh):
    """The function of w and xs, compiled, on a mesh of its axes."""
    f, kind, mapped = WAYS[name]
    mesh = jax.sharding.Mesh(mesh.devices, mesh.axis_names, axis_types=(kind,))
    if mapped:
        f = jax.shard_map(f, mesh=mesh, in_specs=(P(), ROWS), out_specs=P())
    return jax.jit(f), mesh
