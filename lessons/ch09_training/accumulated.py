"""The gradient of a batch, taken in microbatches."""

import jax
import jax.numpy as jnp
from jax import lax
from model import LENGTH, loss


def accumulated(params, tokens, parts, keep=None):
    """The mean of loss and gradient over so many equal parts of the rows;
    keep as for loss."""
    keep = {"keep": keep} if keep else {}

    def add(total, part):
        value, g = jax.value_and_grad(loss)(params, part, **keep)
        return jax.tree.map(jnp.add, total, (value, g)), None

    nothing = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
    pieces = tokens.reshape(parts, -1, LENGTH + 1)
    total, _ = lax.scan(add, nothing, pieces)
    return jax.tree.map(lambda x: x / parts, total)
