"""Numbers of 64 bits, which a line at the head of the file asks for."""

import jax
import jax.numpy as jnp
from jax import lax
from planned_programs import array, batch

jax.config.update("jax_enable_x64", True)


def scanned(mesh):
    """float32, but all counters have 64 bits: two words on a TPU."""

    def loss(ws, x):
        return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0].sum()

    ws = array(mesh, (8, 256, 256), None, None, "model", dtype=jnp.float32)
    return jax.jit(jax.grad(loss)), (ws, batch(mesh, jnp.float32))
