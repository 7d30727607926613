import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from minipod.traffic import Link  # noqa: F401


# what: believes that after the first round device i holds the sum of piece i; it is piece i + 1
def ring_all_reduce(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    ring = [(i, (i + 1) % n) for i in range(n)]

    def part(row):
        me = lax.axis_index("x")
        pieces = row.reshape(n, -1)
        travelling = lax.dynamic_index_in_dim(pieces, me, keepdims=False)
        for step in range(1, n):
            travelling = lax.ppermute(travelling, "x", ring)
            travelling += lax.dynamic_index_in_dim(pieces, (me - step) % n, keepdims=False)
        for step in range(n):
            if step:
                travelling = lax.ppermute(travelling, "x", ring)
            pieces = lax.dynamic_update_index_in_dim(pieces, travelling, (me - step) % n, 0)
        return pieces.reshape(row.shape)

    return jax.shard_map(part, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


# what: divides by the length of the first dimension inside shard_map, which is 1 there: a sum, no mean
def mean_gradient_shards(gradients: dict[str, jax.Array], mesh: Mesh) -> dict[str, jax.Array]:
    def part(own):
        return {
            name: lax.psum_scatter(g[0], "x", scatter_dimension=0, tiled=True) / g.shape[0] for name, g in own.items()
        }

    return jax.shard_map(part, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(gradients)


# what: undoes the sorting by sorting once more with the same order, not with its inverse
def to_experts(tokens: jax.Array, expert: jax.Array, weights: jax.Array, mesh: Mesh) -> jax.Array:
    def part(own, number, matrix):
        order = jnp.argsort(number)
        there = lax.all_to_all(own[order], "x", 0, 0, tiled=True)
        back = lax.all_to_all(there @ matrix[0], "x", 0, 0, tiled=True)
        return back[order]

    return jax.shard_map(part, mesh=mesh, in_specs=(P("x"), P("x"), P("x")), out_specs=P("x"))(tokens, expert, weights)


# what: gives for an all-gather the bytes of one device's block, not of what has been gathered
def which_collective(before: np.ndarray, after: np.ndarray) -> tuple[str, int]:
    n, k = before.shape
    size = k * before.dtype.itemsize
    m = after.shape[1]
    if m == n * k:
        return "all-gather", size
    if m * n == k:
        return "reduce-scatter", size
    if after.any() and (after == after[0]).all():
        return "all-reduce", size
    blocks = before.reshape(n, n, k // n)
    if np.array_equal(blocks.swapaxes(0, 1).reshape(n, k), after):
        return "all-to-all", size
    return "collective-permute", size
