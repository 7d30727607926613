import jax
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: Believes that a ring leaves each of its processes exactly once, whatever the order in which it lists the devices.
def bytes_leaving(
    groups: list[list[int]], process: list[int], size: int
) -> dict[int, int]:
    leaving = dict.fromkeys(process, 0)
    for group in groups:
        n = len(group)
        a_hop = 2 * (n - 1) * (size // n)
        visited = {process[position] for position in group}
        if len(visited) > 1:
            for p in visited:
                leaving[p] += a_hop
    return leaving


# what: Believes that the middle reduction has to name both axes to reach all devices, and so adds different pieces to each other.
def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    both = P(("host", "device"))

    def on_device(row):
        piece = lax.psum_scatter(row, "device", scatter_dimension=1, tiled=True)
        total = lax.psum(piece, ("host", "device"))
        return lax.all_gather(total, "device", axis=1, tiled=True)

    return jax.shard_map(
        on_device, mesh=mesh, in_specs=both, out_specs=both, check_vma=False
    )(x)
