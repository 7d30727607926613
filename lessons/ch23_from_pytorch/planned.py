"""Programs of this chapter for `minipod plan`.

    minipod plan lessons/ch23_from_pytorch/planned.py:twin --on v5e:16x16 \
        --mesh data=256

Each function takes a mesh and returns (step, arguments).
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from accumulated import ROWS, program
from jax import NamedSharding, P
from rows import LENGTH, MICRO, lesson
from rows import ROWS as EACH
from twin import optimizer, step, taken


def twin(mesh):
    """A whole step of train.py: 8 rows on each chip, two micro-batches."""
    same, rows = NamedSharding(mesh, P()), NamedSharding(mesh, ROWS)
    w = taken(np.load(lesson / "start.npz"))
    state = jax.eval_shape(lambda w: (w, optimizer().init(w)), w)

    def on(x, place):
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place)

    state = jax.tree.map(lambda x: on(x, same), state)
    tokens = MICRO, EACH * mesh.size, LENGTH + 1
    tokens = jax.ShapeDtypeStruct(tokens, jnp.int32, sharding=rows)
    run = jax.jit(step, donate_argnums=0, out_shardings=same)
    return run, (state, tokens)


def accumulated(mesh, name):
    f, mesh = program(name, mesh)
    shapes = ((64, 16), P()), ((4, 32, 64), ROWS)
    return f, tuple(
        jax.ShapeDtypeStruct(
            shape, jnp.float32, sharding=NamedSharding(mesh, s)
        )
        for shape, s in shapes
    )


auto = partial(accumulated, name="jit, Auto")
mapped = partial(accumulated, name="shard_map")
copied = partial(accumulated, name="shard_map, pcast w, pmean behind")
