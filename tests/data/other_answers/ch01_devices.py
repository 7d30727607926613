"""Other answers to the exercises of ch01_devices: right ones, known mistakes, and other wrong ones."""

from collections import defaultdict
from itertools import groupby

import jax


def devices_by_host__right(devices, platform):
    found = defaultdict(list)
    for d in sorted(devices, key=lambda d: (d.process_index, d.id)):
        if d.platform == platform:
            found[d.process_index].append(d.id)
    return dict(found)


def devices_by_host__sorted_as_text(devices, platform):
    return {host: sorted(ids, key=str) for host, ids in devices_by_host__right(devices, platform).items()}


def _gathered(arrays, choose=max):
    held = {}
    for x in arrays:
        if x.committed:
            held[x.device] = held.get(x.device, 0) + x.nbytes
    return jax.device_put(arrays, choose(held, key=held.get)) if len(held) > 1 else arrays


def add_up__fewest_bytes(arrays):
    return sum(_gathered(arrays, min))


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
        arrays = jax.device_put(arrays, max(held, key=held.get))
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
