"""Numbers of 64 bits, which a line at the head of the file asks for."""

import jax
import jax.numpy as jnp
from jax import lax
from shaped import array, batch

jax.config.update("jax_enable_x64", True)


def float64(mesh):
    """Doubles, which a TPU makes of two floats."""
    return jax.jit(lambda x: (x * 2).sum(0)), (batch(mesh, jnp.float64),)


def float64_product(mesh):
    """A matrix product of doubles."""
    w = array(mesh, (256, 512), None, "model", dtype=jnp.float64)
    return jax.jit(lambda x, w: x @ w), (batch(mesh, jnp.float64), w)


def scanned(mesh):
    """float32, but all counters have 64 bits: two words on a TPU."""

    def loss(ws, x):
        return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, ws)[0].sum()

    ws = array(mesh, (8, 256, 256), None, None, "model", dtype=jnp.float32)
    return jax.jit(jax.grad(loss)), (ws, batch(mesh, jnp.float32))


def python_float(mesh):
    """A number of Python, which is a double here."""
    return jax.jit(lambda x, rate: x * rate), (batch(mesh, jnp.float32), 1e-3)
