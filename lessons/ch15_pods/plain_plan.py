"""Plain JAX: shapes instead of arrays, and the jit that you have."""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P


def init(key):  # yours, and so is step
    up, down = jax.random.split(key)
    w = {"up": jax.random.normal(up, (4096, 16384))}
    return w | {"down": jax.random.normal(down, (16384, 4096))}


@jax.jit(donate_argnums=0)
def step(w, x):
    def loss(w):
        return (jax.nn.relu(x @ w["up"]) @ w["down"] - x).var()

    g = jax.grad(loss)(w)
    return jax.tree.map(lambda w, g: w - 0.1 * g, w, g)


def program(mesh):
    def on(a, *spec):
        where = NamedSharding(mesh, P(*spec))
        return jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=where)

    w = jax.eval_shape(init, jax.random.key(0))
    x = jax.eval_shape(lambda: jnp.zeros((2**14, 4096)))
    w = {"up": on(w["up"], None, "model"), "down": on(w["down"], "model")}
    return step, (w, on(x, "data"))
