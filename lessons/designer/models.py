"""Training steps of models of published sizes, for any mesh of the six axes.

    minipod plan lessons/designer/models.py:llama_8b_128x2048 --on v5p:4x4x4 \
        --mesh fsdp=16,tensor=4

128x2048: sequences of the whole batch, and tokens of each. The layers alone,
without embedding and head; Adam in f32, everything else in bf16.
"""

import re
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import NamedSharding, P

from lessons.axes.one_model import BF16, Sizes, loss, specs
from minipod.choose import SHAPES

SIZES = {
    name: Sizes(
        a.layers,
        a.width,
        a.heads,
        a.groups,
        a.hidden * (a.each if a.experts else 1),
        gated=True,
    )
    for name, a in SHAPES.items()
}
NAME = re.compile(rf"({'|'.join(SIZES)})_(\d+)x(\d+)")


def adam(state, x, axes=(), room=1.25):
    """One step: ((parameters, both averages, f32 each, step), loss)."""
    p, m, v, step = state

    def of(p):
        return loss(jax.tree.map(lambda a: a.astype(BF16), p), x, axes, room)

    value, g = jax.value_and_grad(of)(p)
    step += 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, v, g)
    size = 1e-4 * jnp.sqrt(1 - 0.95**step) / (1 - 0.9**step)
    p = jax.tree.map(lambda p, m, v: p - size * m / (v**0.5 + 1e-8), p, m, v)
    return (p, m, v, step), value


def program(mesh, sizes, experts):
    """(step, arguments) on a mesh whose axes are of the six."""
    cut, rows = specs(mesh.axis_names, shapes := sizes.shapes(experts))

    def array(shape, spec, dtype=jnp.float32):
        at = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(shape, dtype, sharding=at)

    state = cut, cut, cut, P()
    step = jax.shard_map(
        partial(adam, axes=mesh.axis_names, room=sizes.room),
        mesh=mesh,
        in_specs=(state, rows),
        out_specs=(state, P()),
    )
    p = {n: array(shape, cut[n]) for n, shape in shapes.items()}
    batch = array((sizes.rows, sizes.length, sizes.width), rows, BF16)
    step = jax.jit(step, donate_argnums=0)
    return step, ((p, p, p, array((), P())), batch)


def __getattr__(name):
    """The program of a name such as llama_8b_128x2048."""
    if not (found := NAME.fullmatch(name)):
        raise AttributeError(f"no model is called {name}")
    rows, length = map(int, found.groups()[1:])
    sizes = replace(SIZES[found[1]], rows=rows, length=length)
    return partial(program, sizes=sizes, experts=SHAPES[found[1]].experts > 0)
