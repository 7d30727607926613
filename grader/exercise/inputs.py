"""Inputs for cases, made without compiling anything: a check is waited for."""

import math
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


def fitting(*sizes: int) -> tuple[int, ...]:
    """The sizes of a mesh; with fewer devices, as --device real may have, the largest is halved until it fits."""
    import jax

    found = list(sizes)
    while math.prod(found) > jax.device_count():
        largest = found.index(max(found))
        found[largest] //= 2
    return tuple(found)
