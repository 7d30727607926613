import itertools

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: NumPy on the transposed list of hops
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    rates, latencies = np.asarray(hops, dtype=float).T
    n = rates.size
    step = np.max(latencies + (size / n) / rates)
    return float(2 * (n - 1) * step)


# what: works on stacked pieces, untiled, with the row kept as its own dimension
def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    d = mesh.shape["device"]
    rows = P(("host", "device"))

    def one(block):
        pieces = block.reshape(d, -1)
        mine = lax.psum_scatter(pieces, "device")
        whole = lax.all_gather(lax.psum(mine, "host"), "device")
        return whole.reshape(block.shape)

    return jax.shard_map(one, mesh=mesh, in_specs=rows, out_specs=rows)(x)


# what: names the place of each device by counting with itertools.product instead of reshaping
def mesh_within(devices: list[jax.Device], sizes: dict[str, int], within: str) -> Mesh:
    queue = iter(sorted(devices, key=lambda d: (d.process_index, d.id)))
    order = [name for name in sizes if name != within] + [within]
    grid = np.empty(tuple(sizes.values()), dtype=object)
    for numbers in itertools.product(*(range(sizes[name]) for name in order)):
        place = dict(zip(order, numbers))
        grid[tuple(place[name] for name in sizes)] = next(queue)
    return Mesh(grid, tuple(sizes))


# what: one sum for each process over all hops that begin there
def bytes_leaving(groups: list[list[int]], process: list[int], size: int) -> dict[int, int]:
    hops = [(process[group[i - 1]], process[group[i]], len(group)) for group in groups for i in range(len(group))]
    return {
        own: sum(2 * (length - 1) * (size // length) for source, target, length in hops if source == own != target)
        for own in process
    }
