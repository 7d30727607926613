"""Other answers to the exercises of ch01_devices: right ones, known mistakes, and other wrong ones."""

from collections import defaultdict
from itertools import groupby

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding


def devices_by_host__right(devices, platform):
    found = defaultdict(list)
    for d in sorted(devices, key=lambda d: (d.process_index, d.id)):
        if d.platform == platform:
            found[d.process_index].append(d.id)
    return dict(found)


def _by_host(devices, platform):
    hosts = {}
    for d in devices:
        if d.platform == platform:
            hosts.setdefault(d.process_index, []).append(d)
    return hosts


def devices_by_host__how_many(devices, platform):
    return {host: len(found) for host, found in _by_host(devices, platform).items()}


def devices_by_host__sorted_as_text(devices, platform):
    return {h: sorted((d.id for d in found), key=str) for h, found in _by_host(devices, platform).items()}


def spread__right(arrays, devices):
    held = {d: 0 for d in devices}
    placed = []
    for a in arrays:
        d = min(devices, key=held.__getitem__)
        held[d] += a.dtype.itemsize * a.size
        placed.append(jax.device_put(a, SingleDeviceSharding(d)))
    return placed


def spread__one_part_each(arrays, devices):
    n = len(arrays)
    return [jax.device_put(a, devices[i * len(devices) // n]) for i, a in enumerate(arrays)]


def spread__a_copy_everywhere(arrays, devices):
    mesh = jax.sharding.Mesh(np.array(devices), ("x",))
    everywhere = jax.sharding.NamedSharding(mesh, jax.P())
    return [jax.device_put(a, everywhere) for a in arrays]


def add_up__right(arrays):
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


def add_up__none_where_refused(arrays):
    owners = {x.device for x in arrays if x.committed}
    return sum(arrays) if len(owners) < 2 else None


def add_up__fewest_bytes(arrays):
    held = {}
    for x in arrays:
        if x.committed:
            held[x.device] = held.get(x.device, 0) + x.nbytes
    if len(held) > 1:
        arrays = jax.device_put(arrays, min(held, key=held.get))
    return sum(arrays)


def _most(held):
    return max(held, key=held.get)


def _gathered(arrays):
    held = {}
    for x in arrays:
        if x.committed:
            held[x.device] = held.get(x.device, 0) + x.nbytes
    return jax.device_put(arrays, _most(held)) if len(held) > 1 else arrays


def add_up__first_twice(arrays):
    arrays = _gathered(arrays)
    return sum(arrays, arrays[0])


def add_up__committed_ones_alone(arrays):
    arrays = _gathered(arrays)
    return sum([x for x in arrays if x.committed] or arrays)


def add_up__first_to_reach_it(arrays):
    held, best = {}, None
    for x in arrays:
        if x.committed:
            held[x.device] = held.get(x.device, 0) + x.nbytes
            if best is None or held[x.device] > held[best]:
                best = x.device
    return sum(jax.device_put(arrays, best) if len(held) > 1 else arrays)


def add_up__neighbours_only(arrays):
    placed = [x for x in arrays if x.committed]
    held = {device: sum(x.nbytes for x in group) for device, group in groupby(placed, key=lambda x: x.device)}
    if len(held) > 1:
        arrays = jax.device_put(arrays, _most(held))
    return sum(arrays)


def run_there__right(function, tree, device):
    leaves, shape = jax.tree.flatten(tree)
    moved = [jax.device_put(leaf, device) for leaf in leaves]
    with jax.default_device(device):
        return jax.device_put(function(jax.tree.unflatten(shape, moved)), device)


def run_there__committed_left_alone(function, tree, device):
    def move(a):
        return a if a.committed else jax.device_put(a, device)

    with jax.default_device(device):
        return function(jax.tree.map(move, tree))


def run_there__jit_for_a_device(function, tree, device):
    return jax.jit(function, device=device)(tree)


def run_there__default_left_changed(function, tree, device):
    jax.config.update("jax_default_device", device)
    return function(jax.device_put(tree, device))
