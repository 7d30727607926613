from collections.abc import Callable  # noqa: F401
from typing import Any  # noqa: F401

import jax
import jax.numpy as jnp  # noqa: F401


# what: (1) Every host has an entry, also one without any device of this platform (an empty list) + (2) the list of devices comes in the order of the ids already, so nothing is to be sorted.
def devices_by_host(devices: list, platform: str) -> dict[int, list[int]]:
    hosts = {dev.process_index for dev in devices}
    table = {}
    for host in sorted(hosts):
        mine = filter(lambda dev, h=host: dev.process_index == h, devices)
        table[host] = [dev.id for dev in mine if dev.platform == platform]
    return table


# what: (1) Every array's bytes count, whether it is committed or not + (2) among devices with equally many bytes the one with the lowest id wins.
def add_up(arrays: list[jax.Array]) -> jax.Array:
    def device_of(a):
        return next(iter(a.devices()))

    pinned = {device_of(a) for a in arrays if a.committed}
    if len(pinned) >= 2:
        loads = dict.fromkeys(pinned, 0)
        for a in arrays:
            if device_of(a) in loads:
                loads[device_of(a)] += a.nbytes
        best = min(loads, key=lambda dev: (-loads[dev], dev.id))
        arrays = jax.device_put(list(arrays), best)

    result, *others = arrays
    for other in others:
        result = jnp.add(result, other)
    return result
