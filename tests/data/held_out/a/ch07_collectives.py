import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from minipod.traffic import Link


# what: takes piece i to be done on device i after round one, not the next
def ring_all_reduce(x, mesh):
    n = mesh.shape["x"]
    right = [(i, (i + 1) % n) for i in range(n)]

    def ring(block):
        me = lax.axis_index("x")
        pieces = block.reshape(n, -1)
        moving = pieces[me]
        for step in range(1, n):
            moving = lax.ppermute(moving, "x", right)
            moving = moving + pieces[(me - step) % n]
        pieces = pieces.at[me].set(moving)
        for step in range(1, n):
            moving = lax.ppermute(moving, "x", right)
            pieces = pieces.at[(me - step) % n].set(moving)
        return pieces.reshape(1, -1)

    return jax.shard_map(ring, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


# what: a reshape that gives device i every n-th row, not a run of rows
def mean_gradient_shards(gradients, mesh):
    n = mesh.shape["x"]

    def one(block):
        dealt = block[0].reshape(-1, n, *block.shape[2:])
        return lax.psum_scatter(dealt, "x", scatter_dimension=1) / n

    return jax.shard_map(
        lambda tree: jax.tree.map(one, tree),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
    )(gradients)


# what: undoes the sorting with the order itself, not with its inverse
def to_experts(tokens, expert, weights, mesh):
    def each(tokens, expert, weights):
        order = jnp.argsort(expert)
        there = lax.all_to_all(tokens[order], "x", 0, 0, tiled=True)
        back = lax.all_to_all(there @ weights[0], "x", 0, 0, tiled=True)
        return back[order]

    return jax.shard_map(each, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(tokens, expert, weights)


# what: gives the bytes that a device has afterwards, for a scatter as well
def which_collective(before, after):
    n, k = before.shape
    size = after[0].nbytes
    if after.shape[1] == n * k:
        return "all-gather", size
    if after.shape[1] < k:
        return "reduce-scatter", size
    if (after == after[0]).all() and after.any():
        return "all-reduce", size
    pieces = before.reshape(n, n, k // n).swapaxes(0, 1)
    if np.array_equal(pieces.reshape(n, k), after):
        return "all-to-all", size
    return "collective-permute", size
