"""The known mistakes of ch01_devices, spelled differently."""

import jax
import jax.numpy as jnp
import numpy as np


def devices_by_host__position_for_id(devices, platform):
    hosts = {d.process_index for d in devices if d.platform == platform}
    return {
        h: [
            i
            for i in range(len(devices))
            if devices[i].process_index == h and devices[i].platform == platform
        ]
        for h in hosts
    }


def devices_by_host__neighbours_only(devices, platform):
    hosts, last = {}, None
    for d in devices:
        if d.platform != platform:
            continue
        if d.process_index != last:
            hosts[d.process_index] = []
        hosts[d.process_index] = sorted([*hosts[d.process_index], d.id])
        last = d.process_index
    return hosts


def devices_by_host__every_platform(devices, platform):
    hosts = {d.process_index for d in devices}
    return {
        h: sorted(d.id for d in devices if d.process_index == h) for h in hosts
    }


def devices_by_host__cut_evenly(devices, platform):
    ids = sorted(d.id for d in devices if d.platform == platform)
    hosts = len({d.process_index for d in devices if d.platform == platform})
    each = max(len(ids) // max(hosts, 1), 1)
    found = {h: [] for h in range(hosts)}
    for h in range(hosts):
        found[h] += ids[h * each :][:each]
    return found


def devices_by_host__as_they_come(devices, platform):
    hosts = {d.process_index for d in devices if d.platform == platform}
    return {
        h: [
            d.id
            for d in devices
            if d.process_index == h and d.platform == platform
        ]
        for h in hosts
    }


def devices_by_host__this_machine(devices, platform):
    hosts = {}
    for d in jax.devices():
        if d.platform == platform:
            hosts.setdefault(d.process_index, []).append(d.id)
    return hosts


def spread__in_turn(arrays, devices):
    placed, i = [], 0
    for a in arrays:
        placed.append(jax.device_put(a, devices[i]))
        i = (i + 1) % len(devices)
    return placed


def spread__elements(arrays, devices):
    held = {d: 0 for d in devices}
    placed = []
    for a in arrays:
        d = min(held, key=held.get)
        held[d] += int(np.prod(a.shape))
        placed.append(jax.device_put(a, d))
    return placed


def spread__last_of_several(arrays, devices):
    held = [0] * len(devices)
    placed = []
    for a in arrays:
        i = max(range(len(held)), key=lambda i: (-held[i], i))
        held[i] += a.nbytes
        placed.append(jax.device_put(a, devices[i]))
    return placed


def spread__devices_sorted(arrays, devices):
    held = dict.fromkeys(sorted(d.id for d in devices), 0)
    placed = []
    for a in arrays:
        i = min(held, key=held.get)
        held[i] += a.nbytes
        placed.append(jax.device_put(a, jax.devices()[i]))
    return placed


def spread__first_devices(arrays, devices):
    held = [0] * len(devices)
    placed = []
    for a in arrays:
        i = int(np.argmin(held))
        held[i] += a.nbytes
        placed.append(jax.device_put(a, jax.devices()[i]))
    return placed


def spread__largest_first(arrays, devices):
    held = [0] * len(devices)
    placed = {}
    for k in sorted(range(len(arrays)), key=lambda k: -arrays[k].nbytes):
        i = int(np.argmin(held))
        held[i] += arrays[k].nbytes
        placed[k] = jax.device_put(arrays[k], devices[i])
    return [placed[k] for k in range(len(arrays))]


def spread__not_moved(arrays, devices):
    for a, d in zip(arrays, devices * len(arrays), strict=False):
        jax.device_put(a, d)
    return arrays


def spread__last_array_only(arrays, devices):
    last, placed = dict.fromkeys(devices, 0), []
    for array in arrays:
        device = min(devices, key=lambda d: last[d])
        last.update({device: array.nbytes})
        placed.append(jax.device_put(array, device))
    return placed


def where_it_lies__first_operand(operands, default):
    (device, _), *_ = operands
    return device


def where_it_lies__everyone_counts(operands, default):
    if any(device != operands[0][0] for device, _ in operands):
        return None
    return operands[0][0]


def where_it_lies__last_committed(operands, default):
    where = default
    for device, committed in operands:
        where = device if committed else where
    return where


def where_it_lies__never_refused(operands, default):
    return next(
        (device for device, committed in operands if committed), default
    )


def where_it_lies__stays_where_made(operands, default):
    owners = [device for device, committed in operands if committed]
    if any(o != owners[0] for o in owners):
        return None
    return (owners or [operands[0][0]])[0]


def where_it_lies__zero_is_the_default(operands, default):
    owners = sorted({device for device, committed in operands if committed})
    return None if owners[1:] else (owners or [0])[0]


def where_it_lies__mixed_refused(operands, default):
    owners = [device for device, committed in operands if committed]
    if owners and any(device != owners[0] for device, _ in operands):
        return None
    return (owners or [default])[0]


def where_it_lies__zero_is_nothing(operands, default):
    owner = None
    for device, committed in operands:
        if committed and owner is not None and owner != device:
            return None
        owner = device if committed else owner
    if owner:
        return owner
    return default


def where_it_lies__together_stays(operands, default):
    owners = [device for device, committed in operands if committed]
    if not owners and all(device == operands[0][0] for device, _ in operands):
        return operands[0][0]
    if any(device != owners[0] for device in owners):
        return None
    return (owners or [default])[0]


def run_there__moved_afterwards(function, tree, device):
    result = function(tree)
    return jax.tree.map(lambda leaf: jax.device_put(leaf, device), result)


def run_there__only_arguments(function, tree, device):
    moved = jax.tree.map(lambda leaf: jax.device_put(leaf, device), tree)
    return function(moved)


def run_there__only_default(function, tree, device):
    jax.config.update("jax_default_device", device)
    try:
        return function(tree)
    finally:
        jax.config.update("jax_default_device", None)


def run_there__host_copy(function, tree, device):
    with jax.default_device(device):
        return jax.device_get(function(jax.device_put(tree, device)))


def run_there__first_device(function, tree, device):
    return function(
        jax.tree.map(jnp.array, jax.device_put(tree, jax.devices()[0]))
    )
