import jax
from collections.abc import Callable
from itertools import groupby
from typing import Any


# what: Once the devices are sorted by id, those of one host are believed to stand next to each other, so one run of neighbours is taken for the whole host.
def devices_by_host(devices: list, platform: str) -> dict[int, list[int]]:
    wanted = [d for d in devices if d.platform == platform]
    wanted.sort(key=lambda d: d.id)
    return {
        host: [d.id for d in run]
        for host, run in groupby(wanted, key=lambda d: d.process_index)
    }


# what: Under default_device an uncommitted argument is believed to be moved to that device by itself, so only committed arguments are put there.
def run_there(function: Callable, tree: Any, device: jax.Device) -> Any:
    def bring(leaf):
        if isinstance(leaf, jax.Array) and leaf.committed:
            return jax.device_put(leaf, device)
        return leaf

    moved = jax.tree.map(bring, tree)
    with jax.default_device(device):
        return function(moved)
