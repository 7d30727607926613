import heapq
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp  # noqa: F401


# what: ties go to the device with the smallest id (what a heap needs), not to the first in the list
def spread(arrays: list[jax.Array], devices: list) -> list[jax.Array]:
    heap = [(0, device.id, device) for device in devices]
    heapq.heapify(heap)
    placed = []
    for array in arrays:
        held, number, device = heapq.heappop(heap)
        placed.append(jax.device_put(array, device))
        heapq.heappush(heap, (held + array.nbytes, number, device))
    return placed
