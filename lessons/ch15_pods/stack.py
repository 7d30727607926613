"""One step of training a stack of layers, for a mesh with "data" and "model".

train(mesh, SMALL, rows) is (step, arguments), as `minipod plan` wants it.
"""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax

SMALL = 16, 4096, 16384  # layers, width, hidden units: 4 GiB in bf16
LARGE = 24, 8192, 32768  # 24 GiB


def train(mesh, size, rows, cut="data", keep=False):
    """rows: of the whole batch. cut: along which axis the width is cut."""
    layers, width, hidden = size
    shapes = {"up": (layers, width, hidden), "down": (layers, hidden, width)}
    specs = {"up": P(None, cut, "model"), "down": P(None, "model", cut)}

    def whole(w, axis):
        return lax.all_gather(w, cut, axis=axis, tiled=True) if cut else w

    def layer(x, w):  # x: bf16[rows of this device, width]
        h = jax.nn.relu(x @ whole(w["up"], 0))
        return x + lax.psum(h @ whole(w["down"], 1), "model"), None

    def loss(w, x, y):
        again = jax.checkpoint(layer, policy=not_gathered)
        x, _ = lax.scan(layer if keep else again, x, w)
        mine = jnp.mean((x - y).astype(jnp.float32) ** 2)
        return lax.pmean(mine, "data")

    def step(w, x, y):
        g = jax.grad(loss)(w, x, y)
        return jax.tree.map(lambda w, g: (w - 0.1 * g).astype(w.dtype), w, g)

    def array(shape, spec):
        sharding = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=sharding)

    w = {name: array(shapes[name], specs[name]) for name in shapes}
    batch = array((rows, width), P("data"))
    ins = (specs, P("data"), P("data"))
    step = jax.shard_map(step, mesh=mesh, in_specs=ins, out_specs=specs)
    return jax.jit(step, donate_argnums=0), (w, batch, batch)


def not_gathered(primitive, *_, **__):
    return not primitive.name.startswith("all_gather")
