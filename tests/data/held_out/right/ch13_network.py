import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: NumPy over all hops at once, then the steps of both halves.
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    rates, latencies = np.array(hops, float).T
    n = len(rates)
    slowest = np.max(latencies + (size / n) / rates)
    return float(slowest) * 2 * (n - 1)


# what: Untiled: the row becomes d pieces along a dimension of their own.
def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    def local(row):
        pieces = row.reshape(mesh.shape["device"], -1)
        mine = lax.psum_scatter(pieces, "device", scatter_dimension=0)
        total = lax.psum(mine, "host")
        return lax.all_gather(total, "device").reshape(row.shape)

    cut = P(("host", "device"))
    return jax.shard_map(local, mesh=mesh, in_specs=cut, out_specs=cut)(x)


# what: Puts the devices one by one where an odometer of the axes stands.
def mesh_within(devices: list[jax.Device], sizes: dict[str, int], within: str) -> Mesh:
    ordered = sorted(devices, key=lambda d: (d.process_index, d.id))
    names = tuple(sizes)
    slow_to_fast = [name for name in names if name != within] + [within]
    grid = np.empty(tuple(sizes.values()), dtype=object)
    steps = np.ndindex(*(sizes[name] for name in slow_to_fast))
    for device, step in zip(ordered, steps, strict=True):
        at = dict(zip(slow_to_fast, step, strict=True))
        grid[tuple(at[name] for name in names)] = device
    return Mesh(grid, names)


# what: For each process, sums over the hops whose sender alone is its own.
def bytes_leaving(groups: list[list[int]], process: list[int], size: int) -> dict[int, int]:
    def left(me):
        return sum(
            2 * (len(group) - 1) * (size // len(group))
            for group in groups
            for i, sender in enumerate(group)
            if process[sender] == me and process[group[(i + 1) % len(group)]] != me
        )

    return {me: left(me) for me in process}
