"""Right answers of ch01_devices, written another way."""

from collections import defaultdict

import jax
from jax.sharding import SingleDeviceSharding


def devices_by_host(devices, platform):
    found = defaultdict(list)
    for d in sorted(devices, key=lambda d: (d.process_index, d.id)):
        if d.platform == platform:
            found[d.process_index].append(d.id)
    return dict(found)


def spread(arrays, devices):
    held = {d: 0 for d in devices}
    placed = []
    for a in arrays:
        d = min(devices, key=held.__getitem__)
        held[d] += a.dtype.itemsize * a.size
        placed.append(jax.device_put(a, SingleDeviceSharding(d)))
    return placed


def add_up(arrays):
    """Tried first; where JAX refuses, the numbers of bytes are compared one by one."""
    try:
        return sum(arrays)
    except ValueError:
        placed = [x for x in arrays if x.committed]
        best, most = placed[0].device, 0
        for x in placed:
            size = sum(y.nbytes for y in placed if y.device == x.device)
            if size > most:
                best, most = x.device, size
        return sum(jax.device_put(x, best) for x in arrays)


def run_there(function, tree, device):
    leaves, shape = jax.tree.flatten(tree)
    moved = [jax.device_put(leaf, device) for leaf in leaves]
    with jax.default_device(device):
        return jax.device_put(
            function(jax.tree.unflatten(shape, moved)), device
        )
