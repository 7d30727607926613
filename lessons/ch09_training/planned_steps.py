"""The steps of this chapter for `minipod plan`, with and without donation.

    minipod plan lessons/ch09_training/planned_steps.py:dp_kept --on v5e:2x4 \
        --mesh data=8,model=1

`dp_kept` keeps the old state, `dp_donated` gives it up; `large_…` is the same
model with 202 million parameters. `only_layout`, `auto` and `whole` are left
to the compiler. `at_once`, `in_parts` and `rematerialised` are gradients of
64 rows, all of them on each device. Each function takes a mesh with the axes
"data" and "model", and returns (step, arguments).
"""

from functools import partial

import jax
import jax.numpy as jnp
from accumulated import accumulated
from adam import adam, start
from constraints import by_constraints
from jax import NamedSharding, P
from model import HEADS, LENGTH, SHAPES, loss
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


def empty(mesh, shape, spec=None, dtype=jnp.float32):
    sharding = NamedSharding(mesh, spec or P())
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def arguments(mesh, shapes, places, rows):
    def on(array, spec):
        return empty(mesh, array.shape, spec, array.dtype)

    params = {
        n: jax.ShapeDtypeStruct(s, jnp.float32) for n, s in shapes.items()
    }
    state = jax.tree.map(on, jax.eval_shape(start, params), places)
    return state, empty(mesh, (rows, LENGTH + 1), P("data"), jnp.int32)


def program(mesh, shapes, specs, rows, donate):
    step, places = parallel(specs, mesh)
    jitted = jax.jit(step, donate_argnums=(0,) if donate else ())
    return jitted, arguments(mesh, shapes, places, rows)


def automatic(mesh, step):
    """A step that the compiler cuts, for FSDP's layout of the state."""
    _, places = parallel(layout("data"), mesh)
    out = jax.tree.map(lambda spec: NamedSharding(mesh, spec), places)

    def on_mesh(state, tokens):  # whose constraints need not name it
        with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
            return step(state, tokens)

    jitted = jax.jit(on_mesh, out_shardings=(out, None))
    return jitted, arguments(mesh, SHAPES, places, 16)


def alone(state, tokens):
    value, gradient = jax.value_and_grad(loss)(state["p"], tokens)
    return adam(state, gradient), value


def all_gather_alone(primitive, *_, **__):
    return not primitive.name.startswith("all_gather")


def gradient(mesh, parts, keep=None):
    params = {name: empty(mesh, shape) for name, shape in SHAPES.items()}
    tokens = empty(mesh, (64, LENGTH + 1), dtype=jnp.int32)
    jitted = jax.jit(lambda params, big: accumulated(params, big, parts, keep))
    return jitted, (params, tokens)


FSDP = layout("data")
only_layout = partial(automatic, step=alone)
auto = partial(automatic, step=by_constraints(FSDP))
whole = partial(automatic, step=by_constraints(FSDP, keep=all_gather_alone))

at_once = partial(gradient, parts=1)
in_parts = partial(gradient, parts=4)
rematerialised = partial(gradient, parts=1, keep=lambda *_, **__: False)

for name, specs in LAYOUTS.items():
    for donate in (False, True):
        end = f"{name}_{'donated' if donate else 'kept'}"
        given = {"specs": specs, "rows": 16, "donate": donate}
        globals()[end] = partial(program, shapes=SHAPES, **given)
        globals()[f"large_{end}"] = partial(program, shapes=LARGE, **given)
        more = given | {"rows": 512}
        globals()[f"large_{end}_512"] = partial(program, shapes=LARGE, **more)
