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


def devices_by_host__from_ids(devices, platform):
    hosts = {}
    for device in devices:
        if device.platform == platform:
            hosts.setdefault(device.id // 4, []).append(device.id)
    return {host: sorted(ids) for host, ids in hosts.items()}


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


def _device(x):
    (device,) = x.devices()
    return device


def _held(arrays, size=lambda x: x.nbytes):
    held = {}
    for x in arrays:
        held[_device(x)] = held.get(_device(x), 0) + size(x)
    return held


def _most(held):
    return max(held, key=held.get)


def _add_up(arrays, choose):
    """The solution, but where JAX refuses another device may be chosen."""
    placed = [x for x in arrays if x.committed]
    if len(_held(placed)) > 1:
        arrays = jax.device_put(arrays, choose(placed))
    return sum(arrays)


def add_up__left_to_jax(arrays):
    return sum(arrays)


def add_up__everyone_counts(arrays):
    held = _held(arrays)
    if len(held) > 1:
        arrays = jax.device_put(arrays, _most(held))
    return sum(arrays)


def add_up__uncommitted_bytes_too(arrays):
    held = _held(arrays)

    def choose(placed):
        return max(_held(placed), key=held.get)

    return _add_up(arrays, choose)


def add_up__number_of_arrays(arrays):
    return _add_up(arrays, lambda placed: _most(_held(placed, lambda x: 1)))


def add_up__largest_array(arrays):
    return _add_up(
        arrays, lambda placed: _device(max(placed, key=lambda x: x.nbytes))
    )


def add_up__last_array_only(arrays):
    def choose(placed):
        return _most({_device(x): x.nbytes for x in placed})

    return _add_up(arrays, choose)


def add_up__first_committed(arrays):
    return _add_up(arrays, lambda placed: _device(placed[0]))


def add_up__last_committed(arrays):
    return _add_up(arrays, lambda placed: _device(placed[-1]))


def add_up__first_operand(arrays):
    return sum(jax.device_put(arrays, _device(arrays[0])))


def add_up__default_device(arrays):
    return sum(jax.device_put(arrays, jax.devices()[0]))


def add_up__refused_on_the_default(arrays):
    return _add_up(arrays, lambda placed: jax.devices()[0])


def add_up__last_of_several(arrays):
    def choose(placed):
        held = _held(placed)
        return [d for d in held if held[d] == max(held.values())][-1]

    return _add_up(arrays, choose)


def add_up__lowest_id(arrays):
    def choose(placed):
        held = _held(placed)
        return max(jax.devices(), key=lambda device: held.get(device, 0))

    return _add_up(arrays, choose)


def add_up__in_pairs(arrays):
    total = arrays[0]
    for x in arrays[1:]:
        if x.committed and total.committed:
            larger = x if x.nbytes > total.nbytes else total
            x, total = jax.device_put((x, total), _device(larger))
        total = total + x
    return total


def add_up__stays_where_made(arrays):
    if not any(x.committed for x in arrays):
        return sum(jax.device_put(arrays, _device(arrays[0])))
    return _add_up(arrays, lambda placed: _most(_held(placed)))


def add_up__host_copy(arrays):
    return sum(np.asarray(x) for x in arrays)


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


def run_there__moved_before_and_after(function, tree, device):
    result = function(jax.device_put(tree, device))
    return jax.tree.map(lambda a: jax.device_put(a, device), result)
