from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp  # noqa: F401


# what: with equally full devices it takes the one with the lowest id, not the first in the list
def spread(arrays: list[jax.Array], devices: list) -> list[jax.Array]:
    held = {device: 0 for device in devices}
    placed = []
    for array in arrays:
        device = min(devices, key=lambda d: (held[d], d.id))
        held[device] += array.nbytes
        placed.append(jax.device_put(array, device))
    return placed
