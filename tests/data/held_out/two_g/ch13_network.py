import jax
import numpy as np
from jax import lax  # noqa: F401
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: (1) reckons with the mean rate of the hops instead of waiting for the slowest + (2) believes that the latency is paid only once, because the steps follow each other without a pause.
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    n = len(hops)
    mean_rate = sum(rate for rate, _ in hops) / n
    latency = max(wait for _, wait in hops)
    moved = 2 * (n - 1) * size / n
    return latency + moved / mean_rate


# what: (1) believes that the devices come in their right order already + (2) believes that naming the axis is enough, and leaves it where a plain reshape puts it, the last axis moving fastest.
def mesh_within(
    devices: list[jax.Device], sizes: dict[str, int], within: str
) -> Mesh:
    grid = np.array(devices, dtype=object).reshape(tuple(sizes.values()))
    return Mesh(grid, axis_names=tuple(sizes.keys()))
