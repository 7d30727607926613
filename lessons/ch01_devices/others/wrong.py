"""Mistakes of ch01_devices once more, spelled differently, where that may tell: the name must be the same."""

from collections import Counter
from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np


def run_there__moved_afterwards(function, tree, device):
    result = function(tree)
    return jax.tree.map(lambda leaf: jax.device_put(leaf, device), result)


def run_there__only_default(function, tree, device):
    jax.config.update("jax_default_device", device)
    try:
        return function(tree)
    finally:
        jax.config.update("jax_default_device", None)


def run_there__moved_before_and_after(function, tree, device):
    arguments = jax.device_put(tree, device)
    return jax.device_put(function(arguments), device)


def add_up__left_to_jax(arrays):
    total = jnp.zeros(())
    for x in arrays:
        total += x
    return total


def add_up__in_pairs(arrays):
    def add(a, b):
        if a.committed and b.committed:
            if a.nbytes < b.nbytes:
                a = jax.device_put(a, b.device)
            else:
                b = jax.device_put(b, a.device)
        return jnp.add(a, b)

    return reduce(add, arrays)


def add_up__first_operand(arrays):
    total = arrays[0]
    for x in arrays[1:]:
        total = jax.device_put(total, total.device) + jax.device_put(
            x, total.device
        )
    return total


def add_up__default_device(arrays):
    return jnp.asarray(sum(np.asarray(x) for x in arrays))


def add_up__lowest_id(arrays):
    held = [0] * 8
    for x in arrays:
        held[x.device.id] += x.nbytes * x.committed
    several = sum(n > 0 for n in held) > 1
    there = jax.devices()[held.index(max(held))]
    return sum(jax.device_put(arrays, there) if several else arrays)


def add_up__last_of_several(arrays):
    held, best = {}, None
    for x in arrays:
        if x.committed:
            held[x.device] = held.get(x.device, 0) + x.nbytes
    for device in held:
        if best is None or held[device] >= held[best]:
            best = device
    return sum(jax.device_put(arrays, best) if len(held) > 1 else arrays)


def add_up__everyone_counts(arrays):
    held = Counter()
    for x in arrays:
        held[x.device] += x.nbytes
    (most, _), *others = held.most_common()
    return sum(jax.device_put(arrays, most) if others else arrays)
