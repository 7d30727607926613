import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: adds the worst latency and the slowest rate, though they may belong to different hops
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    n = len(hops)
    latency = max(seconds for _, seconds in hops)
    slowest = min(rate for rate, _ in hops)
    return 2 * (n - 1) * (latency + size / n / slowest)


# what: adds up inside the host and then sends the whole row across, not only a d-th of it
def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    def part(row):
        inside = lax.psum(row, "device")
        total = lax.psum(inside, "host")
        return lax.pcast(total, ("host", "device"), to="varying")

    spec = P(("host", "device"))
    return jax.shard_map(part, mesh=mesh, in_specs=spec, out_specs=spec)(x)


# what: swaps the last axis with the place of `within` instead of moving it there, which mixes up the other axes
def mesh_within(devices: list[jax.Device], sizes: dict[str, int], within: str) -> Mesh:
    ordered = sorted(devices, key=lambda d: (d.process_index, d.id))
    names = list(sizes)
    others = [sizes[name] for name in names if name != within]
    grid = np.empty(len(ordered), dtype=object)
    grid[:] = ordered
    grid = grid.reshape(others + [sizes[within]])
    return Mesh(np.swapaxes(grid, -1, names.index(within)), tuple(names))


# what: counts a group's way from one process to another once, even where its ring takes it several times
def bytes_leaving(groups: list[list[int]], process: list[int], size: int) -> dict[int, int]:
    leaving = {number: 0 for number in process}
    for group in groups:
        n = len(group)
        ways = {(process[here], process[there]) for here, there in zip(group, group[1:] + group[:1])}
        for source, target in ways:
            if source != target:
                leaving[source] += 2 * (n - 1) * (size // n)
    return leaving
