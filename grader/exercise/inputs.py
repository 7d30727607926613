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
    import jax

    # Casting in JAX would compile, once for each shape: 15 ms. So does jnp.asarray of a NumPy array, since JAX 0.10.
    return jax.device_put(numbers.astype(np.float32))
