"""Three layers with their weights cut along "data": gathered where needed.

rows_13(mesh) is (function, arguments), as `minipod plan` wants it.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax

LAYERS, WIDTH, HIDDEN = 3, 4096, 8192


def forward(weights, x):  # x: bf16[rows of this device, WIDTH]
    for up, down in weights:
        up = lax.all_gather(up, "data", axis=0, tiled=True)
        down = lax.all_gather(down, "data", axis=1, tiled=True)
        x = x + jax.nn.relu(x @ up) @ down
    return x


def program(rows, mesh):
    """rows: of the whole batch."""

    def array(shape, *spec):
        sharding = NamedSharding(mesh, P(*spec))
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=sharding)

    layer = (
        array((WIDTH, HIDDEN), "data"),
        array((HIDDEN, WIDTH), None, "data"),
    )
    ins = ([(P("data"), P(None, "data"))] * LAYERS, P("data"))
    step = jax.shard_map(forward, mesh=mesh, in_specs=ins, out_specs=P("data"))
    return jax.jit(step), ([layer] * LAYERS, array((rows, WIDTH), "data"))


rows_13, rows_14, rows_15, rows_16 = (
    partial(program, 2**n) for n in (13, 14, 15, 16)
)
