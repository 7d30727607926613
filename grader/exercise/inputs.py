"""Inputs for cases, made without compiling anything: a check is waited for."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import jax


def normal(rng: np.random.Generator, *shape: int) -> "jax.Array":
    """Normal random numbers, f32[shape], on the first device."""
    return array(rng.normal(size=shape))


def array(numbers: np.ndarray) -> "jax.Array":
    """These numbers as f32, on the first device but not committed to it."""
    import jax.numpy as jnp

    return jnp.asarray(numbers.astype(np.float32))  # casting in JAX would compile, once for each shape
