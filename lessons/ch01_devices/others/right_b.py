"""Right answers of ch01_devices, written a third way."""

import heapq

import jax


def devices_by_host(devices, platform):
    hosts = {d.process_index for d in devices if d.platform == platform}
    return {
        h: sorted(
            d.id
            for d in devices
            if (d.process_index, d.platform) == (h, platform)
        )
        for h in sorted(hosts)
    }


def spread(arrays, devices):
    heap = [(0, i) for i in range(len(devices))]
    placed = []
    for a in arrays:
        held, i = heapq.heappop(heap)
        placed.append(jax.device_put(a, devices[i]))
        heapq.heappush(heap, (held + a.nbytes, i))
    return placed


def where_it_lies(operands, default):
    terms = []
    for device, committed in operands:
        with jax.default_device(jax.devices()[device]):
            one = jax.numpy.ones(2)
        terms.append(
            jax.device_put(one, jax.devices()[device]) if committed else one
        )
    with jax.default_device(jax.devices()[default]):
        try:
            return next(iter(jax.jit(lambda *t: sum(t))(*terms).devices())).id
        except ValueError:
            return None


def run_there(function, tree, device):
    before = jax.config.jax_default_device
    jax.config.update("jax_default_device", device)
    try:
        return function(
            jax.tree.map(lambda leaf: jax.device_put(leaf, device), tree)
        )
    finally:
        jax.config.update("jax_default_device", before)
