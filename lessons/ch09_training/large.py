"""24 GiB of parameters, for `minipod plan`: on one chip they do not fit.

    minipod plan lessons/ch09_training/large.py:fsdp --on v5e:2x4 --mesh data=8

A stack of layers, two matrices each in bf16, and one step of gradient descent.
Each function takes a mesh and returns (step, arguments).
"""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax

LAYERS, WIDTH, HIDDEN = 24, 8192, 32768  # 24 x 2 x 8192 x 32768 x 2 bytes
ROWS = 128  # of the batch, on each part of the axis "data"


def data_parallel(mesh):
    """Every device has all parameters."""
    return program(mesh, data=None, model=None)


def fsdp(mesh):
    """Each matrix is cut along "data", and gathered where it is used."""
    return program(mesh, data="data", model=None)


def fsdp_tp(mesh):
    """As fsdp; and the hidden values are cut along "model"."""
    return program(mesh, data="data", model="model")


def program(mesh, data, model):
    specs = {"up": P(None, data, model), "down": P(None, model, data)}
    shapes = {"up": (LAYERS, WIDTH, HIDDEN), "down": (LAYERS, HIDDEN, WIDTH)}

    def whole(w, axis):
        if data is None:
            return w
        return lax.all_gather(w, "data", axis=axis, tiled=True)

    def layer(x, w):  # x: bf16[ROWS, WIDTH]
        hidden = jax.nn.relu(x @ whole(w["up"], 0))
        out = hidden @ whole(w["down"], 1)
        return x + (lax.psum(out, "model") if model else out), None

    def loss(w, x, y):
        x, _ = lax.scan(jax.checkpoint(layer, policy=not_gathered), x, w)
        mine = jnp.mean((x - y).astype(jnp.float32) ** 2)
        return lax.pmean(mine, "data")

    def step(w, x, y):
        def move(w, g):
            return (w - 0.1 * g).astype(w.dtype)

        return jax.tree.map(move, w, jax.grad(loss)(w, x, y))

    def array(shape, spec):
        sharding = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=sharding)

    w = {name: array(shapes[name], specs[name]) for name in shapes}
    batch = array((ROWS * mesh.shape["data"], WIDTH), P("data"))
    ins = (specs, P("data"), P("data"))
    step = jax.shard_map(step, mesh=mesh, in_specs=ins, out_specs=specs)
    return jax.jit(step, donate_argnums=0), (w, batch, batch)


def not_gathered(primitive, *_, **__):
    """What a layer keeps for the backward pass: no gathered weights."""
    return not primitive.name.startswith("all_gather")
