import jax
import numpy as np
from jax.sharding import Mesh


# what: (1) Thinks the latency is paid only once, because the pieces then stream + (2) thinks slow and fast hops even out, so that the average of the rates sets the pace.
def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    n = len(hops)
    rate = sum(r for r, _ in hops) / n
    start_up = max(wait for _, wait in hops)
    steps = (n - 1) + (n - 1)
    return start_up + steps * (size / n) / rate


# what: (1) Thinks the devices of one process already come in order of their ids, so only process_index is sorted + (2) thinks a reshape to the sizes in their order is enough, so the last axis of the mesh moves fastest, not `within`.
def mesh_within(
    devices: list[jax.Device], sizes: dict[str, int], within: str
) -> Mesh:
    by_process = sorted(devices, key=lambda d: d.process_index)
    flat = np.array(by_process, dtype=object)
    return Mesh(flat.reshape(tuple(sizes.values())), tuple(sizes))
