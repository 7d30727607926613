from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp  # noqa: F401


# what: A host has devices of one platform only, so the first device seen of a host tells the platform of all of them.
def devices_by_host(devices: list, platform: str) -> dict[int, list[int]]:
    host_platform = {}
    host_ids = {}
    for dev in devices:
        host = dev.process_index
        host_platform.setdefault(host, dev.platform)
        host_ids.setdefault(host, []).append(dev.id)
    return {
        host: sorted(ids)
        for host, ids in host_ids.items()
        if host_platform[host] == platform
    }


# what: What the arrays occupy where they lie now already counts as placed, so a device that holds them from the start is thought full.
def spread(arrays: list[jax.Array], devices: list) -> list[jax.Array]:
    used = {dev: 0 for dev in devices}

    def account(arr, sign):
        for dev in arr.devices():
            if dev in used:
                used[dev] += sign * arr.nbytes

    for arr in arrays:
        account(arr, +1)

    moved = []
    for arr in arrays:
        target = min(devices, key=lambda dev: used[dev])
        account(arr, -1)
        there = jax.device_put(arr, target)
        account(there, +1)
        moved.append(there)
    return moved


def _home(arr):
    (dev,) = arr.devices()
    return dev


# what: An array that broadcasts takes the bytes of the full shape, so small arrays count as much as large ones.
def add_up(arrays: list[jax.Array]) -> jax.Array:
    full = jnp.broadcast_shapes(*[a.shape for a in arrays])
    elements = 1
    for side in full:
        elements *= side

    weight = {}
    for a in arrays:
        if a.committed:
            dev = _home(a)
            weight[dev] = weight.get(dev, 0) + elements * a.dtype.itemsize

    operands = list(arrays)
    if len(weight) > 1:
        target = max(weight, key=weight.get)
        operands = [jax.device_put(a, target) for a in operands]

    total = operands[0]
    for a in operands[1:]:
        total = total + a
    return total


# what: Once the arguments are committed to the device, everything that the function makes follows them there.
def run_there(function: Callable, tree: Any, device: jax.Device) -> Any:
    placed = jax.tree.map(lambda leaf: jax.device_put(leaf, device), tree)
    result = function(placed)
    return jax.block_until_ready(result)
