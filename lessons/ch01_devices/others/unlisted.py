"""Wrong answers of ch01_devices that its mistakes.py does not know, written after the checks were finished."""

from itertools import groupby

import jax
import jax.numpy as jnp
import numpy as np


def _by_host(devices, platform):
    hosts = {}
    for d in devices:
        if d.platform == platform:
            hosts.setdefault(d.process_index, []).append(d)
    return hosts


def devices_by_host__how_many(devices, platform):
    return {
        host: len(found) for host, found in _by_host(devices, platform).items()
    }


def devices_by_host__overwritten(devices, platform):
    hosts = {}
    for d in sorted(devices, key=lambda d: d.id):
        if d.platform == platform:
            hosts[d.process_index] = [d.id]
    return hosts


def devices_by_host__empty_hosts_too(devices, platform):
    hosts = {d.process_index: [] for d in devices}
    for d in devices:
        if d.platform == platform:
            hosts[d.process_index].append(d.id)
    return {host: sorted(ids) for host, ids in hosts.items()}


def devices_by_host__sorted_as_text(devices, platform):
    return {
        h: sorted((d.id for d in found), key=str)
        for h, found in _by_host(devices, platform).items()
    }


def devices_by_host__emptied(devices, platform):
    hosts = {}
    while devices:
        d = devices.pop(0)
        if d.platform == platform:
            hosts.setdefault(d.process_index, []).append(d.id)
    return {host: sorted(ids) for host, ids in hosts.items()}


def spread__one_part_each(arrays, devices):
    n = len(arrays)
    return [
        jax.device_put(a, devices[i * len(devices) // n])
        for i, a in enumerate(arrays)
    ]


def spread__grouped_by_device(arrays, devices):
    held, placed = [0] * len(devices), [[] for _ in devices]
    for a in arrays:
        i = held.index(min(held))
        held[i] += a.nbytes
        placed[i].append(jax.device_put(a, devices[i]))
    return [a for group in placed for a in group]


def spread__a_copy_everywhere(arrays, devices):
    mesh = jax.sharding.Mesh(np.array(devices), ("x",))
    everywhere = jax.sharding.NamedSharding(mesh, jax.P())
    return [jax.device_put(a, everywhere) for a in arrays]


def _most(held):
    return max(held, key=held.get)


def _gathered(arrays):
    held = {}
    for x in arrays:
        if x.committed:
            held[x.device] = held.get(x.device, 0) + x.nbytes
    return jax.device_put(arrays, _most(held)) if len(held) > 1 else arrays


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


def add_up__stacked(arrays):
    return jnp.stack(_gathered(arrays)).sum(axis=0)


def add_up__first_twice(arrays):
    arrays = _gathered(arrays)
    return sum(arrays, arrays[0])


def add_up__committed_ones_alone(arrays):
    arrays = _gathered(arrays)
    return sum([x for x in arrays if x.committed] or arrays)


def add_up__every_number(arrays):
    return sum(x.sum() for x in _gathered(arrays))


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
    held = {
        device: sum(x.nbytes for x in group)
        for device, group in groupby(placed, key=lambda x: x.device)
    }
    if len(held) > 1:
        arrays = jax.device_put(arrays, _most(held))
    return sum(arrays)


def run_there__numpy_arguments(function, tree, device):
    with jax.default_device(device):
        return function(jax.tree.map(np.asarray, tree))


def run_there__committed_left_alone(function, tree, device):
    def move(a):
        return a if a.committed else jax.device_put(a, device)

    with jax.default_device(device):
        return function(jax.tree.map(move, tree))


def run_there__leaves_only(function, tree, device):
    with jax.default_device(device):
        return jax.tree.leaves(function(jax.device_put(tree, device)))


def run_there__jit_for_a_device(function, tree, device):
    return jax.jit(function, device=device)(tree)


def run_there__default_left_changed(function, tree, device):
    jax.config.update("jax_default_device", device)
    return function(jax.device_put(tree, device))
