"""Rows that eight devices cannot share evenly, for `minipod plan`.

    minipod plan lessons/ch05_constraints/uneven.py:rows_17 --on v5e:2x4 \
        --mesh x=2,y=4

Each function takes a mesh and returns (function, arguments).
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import NamedSharding, P
from jax.lax import with_sharding_constraint

IN, OUT = 256, 512


def program(mesh, rows):
    def total(x, w):
        h = with_sharding_constraint(2 * x, NamedSharding(mesh, P(("x", "y"))))
        return jnp.exp(h @ w).sum()

    def whole(*shape):
        everywhere = NamedSharding(mesh, P())
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=everywhere)

    return total, (whole(rows, IN), whole(IN, OUT))


for rows in (16, 12, 17):
    globals()[f"rows_{rows}"] = partial(program, rows=rows)
