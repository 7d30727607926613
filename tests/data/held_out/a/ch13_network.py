import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: Takes the largest latency and the lowest rate, of different hops.
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    n = len(hops)
    rate = min(rate for rate, _ in hops)
    latency = max(latency for _, latency in hops)
    return 2 * (n - 1) * (latency + size / n / rate)


# what: Sums whole rows across hosts before it cuts them inside.
def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    def local(x):
        x = lax.psum(x, "host")
        piece = lax.psum_scatter(x, "device", scatter_dimension=1, tiled=True)
        return lax.all_gather(piece, "device", axis=1, tiled=True)

    cut = P(("host", "device"))
    return jax.shard_map(local, mesh=mesh, in_specs=cut, out_specs=cut)(x)


# what: Swaps within with the last axis, which reorders the other axes, too.
def mesh_within(devices: list[jax.Device], sizes: dict[str, int], within: str) -> Mesh:
    devices = sorted(devices, key=lambda d: (d.process_index, d.id))
    names = list(sizes)
    at = names.index(within)
    shape = list(sizes.values())
    shape[at], shape[-1] = shape[-1], shape[at]
    return Mesh(np.array(devices).reshape(shape).swapaxes(at, -1), names)


# what: Cuts the array by all devices, not by the length of the group.
def bytes_leaving(groups: list[list[int]], process: list[int], size: int) -> dict[int, int]:
    n = len(process)
    sent = dict.fromkeys(process, 0)
    for group in groups:
        for a, b in zip(group, group[1:] + group[:1], strict=True):
            if process[a] != process[b]:
                sent[process[a]] += 2 * (n - 1) * size // n
    return sent
