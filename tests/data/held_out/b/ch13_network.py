import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: Takes the longer of latency and transfer for a hop, not both.
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    n = len(hops)
    step = max(max(latency, size / n / rate) for rate, latency in hops)
    return 2 * (n - 1) * step


# what: Gathers without tiled, so the pieces lie along a new dimension.
def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    def local(x):
        piece = lax.psum_scatter(x, "device", scatter_dimension=1, tiled=True)
        return lax.all_gather(lax.psum(piece, "host"), "device", axis=1)

    cut = P(("host", "device"))
    return jax.shard_map(local, mesh=mesh, in_specs=cut, out_specs=cut)(x)


# what: Sorts by id alone, as if ids rose from process to process.
def mesh_within(devices: list[jax.Device], sizes: dict[str, int], within: str) -> Mesh:
    devices = sorted(devices, key=lambda d: d.id)
    shape = [size for name, size in sizes.items() if name != within]
    grid = np.array(devices).reshape(*shape, sizes[within])
    names = list(sizes)
    return Mesh(np.moveaxis(grid, -1, names.index(within)), names)


# what: Lists only the processes that send something.
def bytes_leaving(groups: list[list[int]], process: list[int], size: int) -> dict[int, int]:
    sent = {}
    for group in groups:
        n = len(group)
        for a, b in zip(group, group[1:] + group[:1], strict=True):
            if process[a] != process[b]:
                more = 2 * (n - 1) * size // n
                sent[process[a]] = sent.get(process[a], 0) + more
    return sent
