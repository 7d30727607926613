from collections import defaultdict
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


# what: (1) every host of the machine is believed to belong in the answer, with an empty list if it has none of this platform + (2) the devices of a host are believed to stand in the order of their ids, so they are not sorted.
def devices_by_host(devices: list, platform: str) -> dict[int, list[int]]:
    table = {host: [] for host in sorted({d.process_index for d in devices})}
    for d in devices:
        if d.platform == platform:
            table[d.process_index].append(d.id)
    return table


# what: (1) uncommitted arrays are counted among the bytes of a device as well, although they move freely + (2) of several devices with as many bytes the one with the lowest id is taken instead of the first met.
def add_up(arrays: list[jax.Array]) -> jax.Array:
    held = defaultdict(int)
    fixed = set()
    for a in arrays:
        (place,) = a.devices()
        held[place] += a.nbytes
        if a.committed:
            fixed.add(place)
    if len(fixed) > 1:
        target = min(fixed, key=lambda d: (-held[d], d.id))
        arrays = [jax.device_put(a, target) for a in arrays]
    total = arrays[0]
    for a in arrays[1:]:
        total = jnp.add(total, a)
    return total
