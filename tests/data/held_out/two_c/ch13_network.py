import jax
import numpy as np
from jax import lax  # noqa: F401
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: sorts by id alone, as if the ids followed the processes + fills the mesh in the order of its axes, `within` not the fastest
def mesh_within(devices: list[jax.Device], sizes: dict[str, int], within: str) -> Mesh:
    ordered = sorted(devices, key=lambda d: d.id)
    grid = np.empty(len(ordered), dtype=object)
    grid[:] = ordered
    return Mesh(grid.reshape(tuple(sizes.values())), tuple(sizes))


# what: leaves out the hop from the last device to the first + counts the n - 1 steps that add up, not those that hand out
def bytes_leaving(groups: list[list[int]], process: list[int], size: int) -> dict[int, int]:
    leaving = dict.fromkeys(process, 0)
    for group in groups:
        n = len(group)
        for here, there in zip(group, group[1:]):
            if process[here] != process[there]:
                leaving[process[here]] += (n - 1) * (size // n)
    return leaving
