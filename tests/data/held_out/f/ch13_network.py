import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: Thinks a step of the ring takes the worst latency plus the piece at the worst rate, even when those belong to two different hops.
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    devices = len(hops)
    piece = size / devices
    rates = [rate for rate, _ in hops]
    latencies = [latency for _, latency in hops]
    one_step = max(latencies) + piece / min(rates)
    return 2 * (devices - 1) * one_step


# what: Thinks a reduce-scatter deals the numbers out round robin (number j to device j % d) and that an all-gather puts them back in that order.
def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    spec = P(("host", "device"))
    inside = mesh.shape["device"]

    def body(row):
        m = row.shape[1]
        dealt = row.reshape(m // inside, inside)
        mine = lax.psum_scatter(
            dealt, "device", scatter_dimension=1, tiled=True
        ).reshape(m // inside)
        mine = lax.psum(mine, "host")
        whole = lax.all_gather(mine, "device", axis=0, tiled=True)
        return whole[None, :]

    return jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec)(x)


# what: Thinks swapping the last axis with the place of `within` is the same as moving it there (the other axes get out of order with three axes or more).
def mesh_within(
    devices: list[jax.Device], sizes: dict[str, int], within: str
) -> Mesh:
    ordered = sorted(devices, key=lambda dev: (dev.process_index, dev.id))
    names = list(sizes)
    outer = [name for name in names if name != within]

    grid = np.empty(len(ordered), dtype=object)
    for i, dev in enumerate(ordered):
        grid[i] = dev
    grid = grid.reshape([sizes[name] for name in outer] + [sizes[within]])
    grid = grid.swapaxes(-1, names.index(within))
    return Mesh(grid, tuple(names))
