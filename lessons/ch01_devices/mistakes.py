"""Known wrong answers of ch01_devices, as code; words.toml explains them."""

from itertools import groupby

import jax
import numpy as np


def devices_by_host__position_for_id(devices, platform):
    hosts = {}
    for i, device in enumerate(devices):
        if device.platform == platform:
            hosts.setdefault(device.process_index, []).append(i)
    return hosts


def devices_by_host__neighbours_only(devices, platform):
    chosen = [d for d in devices if d.platform == platform]
    return {
        host: sorted(d.id for d in group)
        for host, group in groupby(chosen, key=lambda d: d.process_index)
    }


def devices_by_host__every_platform(devices, platform):
    hosts = {}
    for device in devices:
        hosts.setdefault(device.process_index, []).append(device.id)
    return {host: sorted(ids) for host, ids in hosts.items()}


def devices_by_host__cut_evenly(devices, platform):
    ids = sorted(d.id for d in devices if d.platform == platform)
    hosts = {d.process_index for d in devices if d.platform == platform}
    each = max(1, len(ids) // max(1, len(hosts)))
    return {n: ids[n * each : (n + 1) * each] for n in range(len(hosts))}


def devices_by_host__as_they_come(devices, platform):
    hosts = {}
    for device in devices:
        if device.platform == platform:
            hosts.setdefault(device.process_index, []).append(device.id)
    return hosts


def devices_by_host__this_machine(devices, platform):
    here = [d for d in jax.devices() if d.platform == platform]
    return {0: [d.id for d in here]} if here else {}


def _spread(arrays, devices, size, first=True):
    held, placed = [0] * len(devices), []
    for array in arrays:
        least = [i for i, n in enumerate(held) if n == min(held)]
        i = least[0] if first else least[-1]
        held[i] += size(array)
        placed.append(jax.device_put(array, devices[i]))
    return placed


def spread__in_turn(arrays, devices):
    return [
        jax.device_put(array, devices[i % len(devices)])
        for i, array in enumerate(arrays)
    ]


def spread__elements(arrays, devices):
    return _spread(arrays, devices, lambda array: array.size)


def spread__last_of_several(arrays, devices):
    return _spread(arrays, devices, lambda array: array.nbytes, first=False)


def spread__devices_sorted(arrays, devices):
    ordered = sorted(devices, key=lambda d: d.id)
    return _spread(arrays, ordered, lambda array: array.nbytes)


def spread__first_devices(arrays, devices):
    here = jax.devices()[: len(devices)]
    return _spread(arrays, here, lambda array: array.nbytes)


def spread__largest_first(arrays, devices):
    order = np.argsort([-a.nbytes for a in arrays], kind="stable")
    chosen = [arrays[i] for i in order]
    placed = _spread(chosen, devices, lambda array: array.nbytes)
    return [placed[list(order).index(i)] for i in range(len(arrays))]


def spread__not_moved(arrays, devices):
    return list(arrays)


def spread__last_array_only(arrays, devices):
    held, placed = [0] * len(devices), []
    for array in arrays:
        i = held.index(min(held))
        held[i] = array.nbytes
        placed.append(jax.device_put(array, devices[i]))
    return placed


def where_it_lies__first_operand(operands, default):
    return operands[0][0]


def where_it_lies__everyone_counts(operands, default):
    where = {device for device, _ in operands}
    return where.pop() if len(where) == 1 else None


def where_it_lies__last_committed(operands, default):
    owners = [device for device, committed in operands if committed]
    return owners[-1] if owners else default


def where_it_lies__never_refused(operands, default):
    owners = [device for device, committed in operands if committed]
    return owners[0] if owners else default


def where_it_lies__stays_where_made(operands, default):
    owners = {device for device, committed in operands if committed}
    if len(owners) > 1:
        return None
    return owners.pop() if owners else operands[0][0]


def where_it_lies__zero_is_the_default(operands, default):
    owners = {device for device, committed in operands if committed}
    if len(owners) > 1:
        return None
    return owners.pop() if owners else 0


def where_it_lies__mixed_refused(operands, default):
    owners = {device for device, committed in operands if committed}
    where = {device for device, _ in operands}
    if not owners:
        return default
    return owners.pop() if len(where) == 1 else None


def where_it_lies__zero_is_nothing(operands, default):
    owners = {device for device, committed in operands if committed}
    if len(owners) > 1:
        return None
    return (owners.pop() if owners else 0) or default


def where_it_lies__together_stays(operands, default):
    owners = {device for device, committed in operands if committed}
    where = {device for device, _ in operands}
    if owners:
        return owners.pop() if len(owners) == 1 else None
    return where.pop() if len(where) == 1 else default


def where_it_lies__in_pairs(operands, default):
    device, committed = operands[0]
    for other, its in operands[1:]:
        if committed and its and device != other:
            return None
        held = device if committed else other
        device = held if committed or its else default
        committed = committed and its
    return device if committed or len(operands) > 1 else default


def run_there__moved_afterwards(function, tree, device):
    return jax.device_put(function(tree), device)


def run_there__only_arguments(function, tree, device):
    return function(jax.device_put(tree, device))


def run_there__only_default(function, tree, device):
    with jax.default_device(device):
        return function(tree)


def run_there__host_copy(function, tree, device):
    with jax.default_device(device):
        return jax.tree.map(np.asarray, function(jax.device_put(tree, device)))


def run_there__first_device(function, tree, device):
    first = jax.devices()[0]
    with jax.default_device(first):
        return function(jax.device_put(tree, first))
