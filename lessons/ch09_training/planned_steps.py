"""The steps of this chapter for `minipod plan`, with and without donation.

    minipod plan lessons/ch09_training/planned_steps.py:dp_kept --on v5e:2x4 \
        --mesh data=8,model=1

`dp_kept` keeps the old state, `dp_donated` gives it up; `large_…` is the same
model with 201 million parameters. Each function takes a mesh with the axes
"data" and "model", and returns (step, arguments).
"""

from functools import partial

import jax
import jax.numpy as jnp
from adam import start
from jax import NamedSharding, P
from model import HEADS, LENGTH, SHAPES
from parallel import layout, parallel

WIDTH, HIDDEN, LAYERS = 1024, 4096, 16
LARGE = {
    "embed": (256, WIDTH),
    "position": (LENGTH, WIDTH),
    "qkv": (LAYERS, WIDTH, 3, HEADS, WIDTH // HEADS),
    "out": (LAYERS, HEADS, WIDTH // HEADS, WIDTH),
    "up": (LAYERS, WIDTH, HIDDEN),
    "down": (LAYERS, HIDDEN, WIDTH),
    "logits": (WIDTH, 256),
}
LAYOUTS = {
    "dp": layout(),
    "fsdp": layout("data"),
    "tp": layout(model="model"),
    "fsdp_tp": layout("data", "model"),
}


def program(mesh, shapes, specs, rows, donate):
    step, places = parallel(specs, mesh)

    def on(array, spec):
        sharding = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding)

    params = {
        n: jax.ShapeDtypeStruct(s, jnp.float32) for n, s in shapes.items()
    }
    state = jax.tree.map(on, jax.eval_shape(start, params), places)
    tokens = on(jnp.zeros((rows, LENGTH + 1), jnp.int32), P("data"))
    return jax.jit(step, donate_argnums=(0,) if donate else ()), (state, tokens)


for name, specs in LAYOUTS.items():
    for donate in (False, True):
        end = f"{name}_{'donated' if donate else 'kept'}"
        given = {"specs": specs, "rows": 16, "donate": donate}
        globals()[end] = partial(program, shapes=SHAPES, **given)
        globals()[f"large_{end}"] = partial(program, shapes=LARGE, **given)
        more = given | {"rows": 512}
        globals()[f"large_{end}_512"] = partial(program, shapes=LARGE, **more)
