import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from minipod.traffic import Link  # noqa: F401


# what: sends every piece straight to its owner; a far device costs no more links than a neighbour
def ring_all_reduce(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]

    def one(row):
        me = lax.axis_index("x")
        pieces = row.reshape(n, -1)
        total = pieces[me]
        for hop in range(1, n):
            pairs = [(i, (i + hop) % n) for i in range(n)]
            total = total + lax.ppermute(pieces[(me + hop) % n], "x", pairs)
        result = jnp.zeros_like(pieces).at[me].set(total)
        for hop in range(1, n):
            pairs = [(i, (i + hop) % n) for i in range(n)]
            other = lax.ppermute(total, "x", pairs)
            result = result.at[(me - hop) % n].set(other)
        return result.reshape(row.shape)

    return jax.shard_map(one, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


# what: inside shard_map the first dimension of a gradient still has size n, so its length is the divisor
def mean_gradient_shards(gradients: dict[str, jax.Array], mesh: Mesh) -> dict[str, jax.Array]:
    def one(gradients):
        def share(gradient):
            piece = lax.psum_scatter(gradient[0], "x", scatter_dimension=0, tiled=True)
            return piece / gradient.shape[0]

        return jax.tree.map(share, gradients)

    return jax.shard_map(one, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(gradients)


# what: sorting by the same order once more undoes the sorting
def to_experts(tokens: jax.Array, expert: jax.Array, weights: jax.Array, mesh: Mesh) -> jax.Array:
    def one(tokens, expert, weights):
        order = jnp.argsort(expert, stable=True)
        sent = lax.all_to_all(tokens[order], "x", split_axis=0, concat_axis=0, tiled=True)
        done = sent @ weights[0]
        home = lax.all_to_all(done, "x", split_axis=0, concat_axis=0, tiled=True)
        return home[order]

    return jax.shard_map(one, mesh=mesh, in_specs=(P("x"), P("x"), P("x")), out_specs=P("x"))(tokens, expert, weights)


# what: the bytes of a collective are those of the block that a device hands in, for an all-gather too
def which_collective(before: np.ndarray, after: np.ndarray) -> tuple[str, int]:
    n, k = before.shape
    m = after.shape[1]
    size = k * before.dtype.itemsize
    if m == n * k:
        return "all-gather", size
    if m * n == k:
        return "reduce-scatter", size
    if after.any() and (after == after[0]).all():
        return "all-reduce", size
    for row in after:
        if row.any() and not any(np.array_equal(row, old) for old in before):
            return "all-to-all", size
    return "collective-permute", size
