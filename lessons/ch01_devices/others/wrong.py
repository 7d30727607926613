"""Mistakes of ch01_devices once more, spelled differently, where that may tell: the name must be the same."""

import jax


def run_there__moved_afterwards(function, tree, device):
    result = function(tree)
    return jax.tree.map(lambda leaf: jax.device_put(leaf, device), result)


def run_there__only_default(function, tree, device):
    jax.config.update("jax_default_device", device)
    try:
        return function(tree)
    finally:
        jax.config.update("jax_default_device", None)


def where_it_lies__in_pairs(operands, default):
    device, committed = operands[0]
    for other, fixed in operands[1:]:
        if committed and fixed and device != other:
            return None
        if committed or fixed:
            device = device if committed else other
        else:
            device = default
        committed = committed and fixed
    return device if committed or len(operands) > 1 else default
