import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: the worst latency and the worst rate make up the slowest hop, even where they belong to two hops
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    n = len(hops)
    slowest = min(rate for rate, _ in hops)
    latency = max(latency for _, latency in hops)
    return 2 * (n - 1) * (latency + size / n / slowest)


# what: scatters along "host", so that what must cross is cut first; a piece has then crossed in full
def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    def one(row):
        piece = lax.psum_scatter(row[0], "host", scatter_dimension=0, tiled=True)
        piece = lax.psum(piece, "device")
        return lax.all_gather(piece, "host", axis=0, tiled=True)[None]

    both = P(("host", "device"))
    return jax.shard_map(one, mesh=mesh, in_specs=both, out_specs=both)(x)


# what: swapping `within` with the last axis and back keeps the order of the others
def mesh_within(devices: list[jax.Device], sizes: dict[str, int], within: str) -> Mesh:
    names = tuple(sizes)
    place = names.index(within)
    shape = list(sizes.values())
    shape[place], shape[-1] = shape[-1], shape[place]
    ordered = sorted(devices, key=lambda d: (d.process_index, d.id))
    grid = np.empty(len(ordered), dtype=object)
    grid[:] = ordered
    return Mesh(np.swapaxes(grid.reshape(shape), place, -1), names)


# what: the pieces are cut by the number of all devices, not by the length of the group
def bytes_leaving(groups: list[list[int]], process: list[int], size: int) -> dict[int, int]:
    n = len(process)
    leaving = {number: 0 for number in process}
    for group in groups:
        if len(group) < 2:
            continue
        for here, there in zip(group, group[1:] + group[:1]):
            if process[here] != process[there]:
                leaving[process[here]] += 2 * (n - 1) * size // n
    return leaving
