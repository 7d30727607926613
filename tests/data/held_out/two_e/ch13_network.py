import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: (1) the hop with the lowest rate is the slowest, whatever the latencies are + (2) the ring needs n steps to add up and n to hand out, once round for each.
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    n = len(hops)
    rate, latency = min(hops, key=lambda hop: hop[0])
    step = latency + size / n / rate
    return 2 * n * step


# what: (1) the devices of a process come in the right order already, so sorting by process is enough + (2) reshape brings an axis to its place in the mesh.
def mesh_within(
    devices: list[jax.Device], sizes: dict[str, int], within: str
) -> Mesh:
    ordered = sorted(devices, key=lambda device: device.process_index)
    grid = np.empty(len(ordered), dtype=object)
    for i, device in enumerate(ordered):
        grid[i] = device
    others = [size for name, size in sizes.items() if name != within]
    grid = grid.reshape(others + [sizes[within]])
    grid = grid.reshape(list(sizes.values()))
    return Mesh(grid, tuple(sizes))
