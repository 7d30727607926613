import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: a step is as slow as the worst latency of the ring plus the piece at the worst rate, even where these belong to different hops.
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    n = len(hops)
    piece = size / n
    slowest_rate = min(rate for rate, _ in hops)
    longest_latency = max(latency for _, latency in hops)
    step = longest_latency + piece / slowest_rate
    return 2 * (n - 1) * step


# what: it doesn't matter which numbers of a row a device gets in the reduce-scatter (every d-th here), since the all-gather puts the pieces back where they came from.
def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    d = mesh.shape["device"]
    spec = P(("host", "device"))

    def local(row):
        m = row.shape[1]
        columns = row.reshape(m // d, d)
        mine = lax.psum_scatter(columns, "device", scatter_dimension=1)
        mine = lax.psum(mine, "host")
        whole = lax.all_gather(mine, "device", tiled=True)
        return whole.reshape(1, m)

    return jax.shard_map(local, mesh=mesh, in_specs=spec, out_specs=spec)(x)


# what: device ids are handed out process after process, so that sorting by id alone also puts the processes one after the other.
def mesh_within(
    devices: list[jax.Device], sizes: dict[str, int], within: str
) -> Mesh:
    names = list(sizes)
    ordered = sorted(devices, key=lambda device: device.id)
    others = [sizes[name] for name in names if name != within]
    grid = np.empty(len(ordered), dtype=object)
    for i, device in enumerate(ordered):
        grid[i] = device
    grid = grid.reshape(others + [sizes[within]])
    grid = np.moveaxis(grid, -1, names.index(within))
    return Mesh(grid, tuple(names))


# what: the devices of one process first add up among themselves, so a process sends only once to each other process in a group, however often the ring goes out of it.
def bytes_leaving(
    groups: list[list[int]], process: list[int], size: int
) -> dict[int, int]:
    leaving = {p: 0 for p in process}
    for group in groups:
        n = len(group)
        hop = 2 * (n - 1) * (size // n)
        crossings = set()
        for i in range(n):
            here = process[group[i]]
            there = process[group[(i + 1) % n]]
            if here != there:
                crossings.add((here, there))
        for here, _ in crossings:
            leaving[here] += hop
    return leaving
