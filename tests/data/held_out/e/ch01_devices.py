from collections.abc import Callable
from itertools import groupby
from typing import Any

import jax
import jax.numpy as jnp  # noqa: F401


# what: ids are believed to be handed out host after host, so that in the order of the ids the devices of one host always stand side by side.
def devices_by_host(devices: list, platform: str) -> dict[int, list[int]]:
    wanted = [d for d in devices if d.platform == platform]
    wanted.sort(key=lambda d: d.id)
    hosts = {}
    for host, group in groupby(wanted, key=lambda d: d.process_index):
        hosts[host] = [d.id for d in group]
    return hosts


# what: the arrays are believed to take room, from the start, on the device on which they happen to lie before they are placed.
def spread(arrays: list[jax.Array], devices: list) -> list[jax.Array]:
    load = {d: 0 for d in devices}
    for a in arrays:
        for d in a.devices():
            if d in load:
                load[d] += a.nbytes
    placed = []
    for a in arrays:
        target = min(devices, key=lambda d: load[d])
        for d in a.devices():
            if d in load:
                load[d] -= a.nbytes
        load[target] += a.nbytes
        placed.append(jax.device_put(a, target))
    return placed


# what: the device with the single largest committed array is believed to be the one with most committed bytes.
def add_up(arrays: list[jax.Array]) -> jax.Array:
    committed = [a for a in arrays if a.committed]
    homes = {a.device for a in committed}
    if len(homes) > 1:
        # max keeps the first of several equal ones
        target = max(committed, key=lambda a: a.nbytes).device
        arrays = [jax.device_put(a, target) for a in arrays]
    total = arrays[0]
    for a in arrays[1:]:
        total = total + a
    return total


# what: uncommitted arguments are believed to move by themselves to the default device, so only the committed ones are put there.
def run_there(function: Callable, tree: Any, device: jax.Device) -> Any:
    def bring(leaf):
        if isinstance(leaf, jax.Array) and leaf.committed:
            return jax.device_put(leaf, device)
        return leaf

    with jax.default_device(device):
        return function(jax.tree.map(bring, tree))
