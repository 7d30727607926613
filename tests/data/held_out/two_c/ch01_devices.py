from collections.abc import Callable  # noqa: F401
from typing import Any  # noqa: F401

import jax
import jax.numpy as jnp  # noqa: F401


# what: counts elements instead of bytes + with equally full devices takes the last in the list
def spread(arrays: list[jax.Array], devices: list) -> list[jax.Array]:
    held = [0] * len(devices)
    placed = []
    for array in arrays:
        least = min(held)
        i = max(i for i, elements in enumerate(held) if elements == least)
        held[i] += array.size
        placed.append(jax.device_put(array, devices[i]))
    return placed
