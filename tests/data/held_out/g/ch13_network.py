import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: Adds the worst latency to the slowest rate, though they may belong to different hops.
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    n = len(hops)
    rates, waits = zip(*hops)
    one_step = max(waits) + (size / n) / min(rates)
    return 2 * (n - 1) * one_step


# what: Believes that the middle reduction has to name both axes to reach all devices, and so adds different pieces to each other.
def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    both = P(("host", "device"))

    def on_device(row):
        piece = lax.psum_scatter(row, "device", scatter_dimension=1, tiled=True)
        total = lax.psum(piece, ("host", "device"))
        return lax.all_gather(total, "device", axis=1, tiled=True)

    return jax.shard_map(
        on_device, mesh=mesh, in_specs=both, out_specs=both, check_vma=False
    )(x)


# what: Believes that swapaxes puts the last axis in its place and keeps the order of the others, as moveaxis does.
def mesh_within(
    devices: list[jax.Device], sizes: dict[str, int], within: str
) -> Mesh:
    ordered = sorted(devices, key=lambda d: (d.process_index, d.id))
    names = list(sizes)
    others = [name for name in names if name != within]
    grid = np.empty(len(ordered), dtype=object)
    for i, device in enumerate(ordered):
        grid[i] = device
    grid = grid.reshape([sizes[name] for name in others] + [sizes[within]])
    grid = np.swapaxes(grid, -1, names.index(within))
    return Mesh(grid, tuple(names))


# what: Believes that a ring leaves each of its processes exactly once, whatever the order in which it lists the devices.
def bytes_leaving(
    groups: list[list[int]], process: list[int], size: int
) -> dict[int, int]:
    leaving = dict.fromkeys(process, 0)
    for group in groups:
        n = len(group)
        a_hop = 2 * (n - 1) * (size // n)
        visited = {process[position] for position in group}
        if len(visited) > 1:
            for p in visited:
                leaving[p] += a_hop
    return leaving
