import jax
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P


# what: a permute is believed to give every device exactly one block, so one that leaves devices without a source is taken for an all-to-all.
def which_collective(before: np.ndarray, after: np.ndarray) -> tuple[str, int]:
    n, k = before.shape
    m = after.shape[1]
    block = k * before.dtype.itemsize
    if m == n * k:
        return "all-gather", (n - 1) * block
    if m * n == k:
        return "reduce-scatter", (n - 1) * block // n
    for reduced in (before.sum(0), before.max(0), before.min(0)):
        if all(np.allclose(row, reduced) for row in after):
            return "all-reduce", 2 * (n - 1) * block // n
    sources = []
    for row in after:
        for i in range(n):
            if np.array_equal(row, before[i]):
                sources.append(i)
                break
    if sorted(sources) == list(range(n)):
        return "collective-permute", block
    return "all-to-all", (n - 1) * block // n


# what: keeps the dimension of the devices, as [1, a, …] + does not divide by n
def mean_gradient_shards(gradients, mesh):
    def one(block):
        return lax.psum_scatter(block, "x", scatter_dimension=1, tiled=True)

    return jax.shard_map(
        lambda tree: jax.tree.map(one, tree),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P(None, "x"),
    )(gradients)
