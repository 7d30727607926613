from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp  # noqa: F401


# what: (1) every host of the machine is believed to belong in the answer, with an empty list if it has no such device + (2) a list of devices is believed to be in the order of the ids already.
def devices_by_host(devices: list, platform: str) -> dict[int, list[int]]:
    hosts = {d.process_index: [] for d in devices}
    for d in devices:
        if d.platform == platform:
            hosts[d.process_index].append(d.id)
    return hosts


# what: (1) uncommitted arrays are believed to weigh in as well, since they too take up room on their device + (2) the "first" of several equal devices is believed to be the one with the lowest id.
def add_up(arrays: list[jax.Array]) -> jax.Array:
    fixed = {a.device for a in arrays if a.committed}
    if len(fixed) > 1:
        load = {d: 0 for d in fixed}
        for a in arrays:
            if a.device in load:
                load[a.device] += a.nbytes
        target = min(fixed, key=lambda d: (-load[d], d.id))
        arrays = [jax.device_put(a, target) for a in arrays]
    total = arrays[0]
    for a in arrays[1:]:
        total = total + a
    return total
