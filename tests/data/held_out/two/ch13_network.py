import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: Takes the mean hop for a step + counts n steps there and n back.
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    n = len(hops)
    each = [latency + size / n / rate for rate, latency in hops]
    return 2 * n * sum(each) / n


# what: Scatters along "host" and sums inside + takes the mean, not the sum.
def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    def local(x):
        piece = lax.psum_scatter(x, "host", scatter_dimension=1, tiled=True)
        piece = lax.pmean(piece, "device") / mesh.shape["host"]
        return lax.all_gather(piece, "host", axis=1, tiled=True)

    cut = P(("host", "device"))
    return jax.shard_map(local, mesh=mesh, in_specs=cut, out_specs=cut)(x)


# what: Leaves within as the mesh's last axis + keeps a process's own order.
def mesh_within(devices: list[jax.Device], sizes: dict[str, int], within: str) -> Mesh:
    devices = sorted(devices, key=lambda d: d.process_index)
    names = [name for name in sizes if name != within] + [within]
    grid = np.array(devices).reshape([sizes[name] for name in names])
    return Mesh(grid, names)


# what: Goes round in ascending order + counts the first n-1 steps only.
def bytes_leaving(groups: list[list[int]], process: list[int], size: int) -> dict[int, int]:
    sent = dict.fromkeys(process, 0)
    for group in groups:
        n, ring = len(group), sorted(group)
        for a, b in zip(ring, ring[1:] + ring[:1], strict=True):
            if process[a] != process[b]:
                sent[process[a]] += (n - 1) * size // n
    return sent
