import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from minipod.traffic import Link


# what: sends each piece straight to where it belongs, past the neighbours
def ring_all_reduce(x, mesh):
    n = mesh.shape["x"]

    def by(step):
        return [(i, (i + step) % n) for i in range(n)]

    def ring(block):
        me = lax.axis_index("x")
        pieces = block.reshape(n, -1)
        total = pieces[me]
        for step in range(1, n):
            theirs = pieces[(me + step) % n]
            total = total + lax.ppermute(theirs, "x", by(step))
        pieces = pieces.at[me].set(total)
        for step in range(1, n):
            other = lax.ppermute(total, "x", by(step))
            pieces = pieces.at[(me - step) % n].set(other)
        return pieces.reshape(1, -1)

    return jax.shard_map(ring, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


# what: brings the pieces together by all-to-all and adds them up there
def mean_gradient_shards(gradients, mesh):
    n = mesh.shape["x"]

    def one(block):
        pieces = lax.all_to_all(block[0], "x", 0, 0, tiled=True)
        return pieces.reshape(n, -1, *block.shape[2:]).mean(axis=0)

    return jax.shard_map(
        lambda tree: jax.tree.map(one, tree),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
    )(gradients)


# what: sends all tokens to every expert, zeros in place of the others' tokens
def to_experts(tokens, expert, weights, mesh):
    n = mesh.shape["x"]

    def each(tokens, expert, weights):
        its = jnp.arange(n)[:, None] == expert
        masked = jnp.where(its[:, :, None], tokens, 0)
        there = lax.all_to_all(masked, "x", 0, 0, tiled=True)
        back = lax.all_to_all(there @ weights[0], "x", 0, 0, tiled=True)
        return back.sum(axis=0)

    return jax.shard_map(each, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(tokens, expert, weights)


# what: a permute must have the same rows as before, so it misses one with gaps
def which_collective(before, after):
    n, k = before.shape
    size = before[0].nbytes
    if after.shape[1] == n * k:
        return "all-gather", n * size
    if after.shape[1] < k:
        return "reduce-scatter", size
    if (after == after[0]).all():
        return "all-reduce", size
    if sorted(before.tolist()) == sorted(after.tolist()):
        return "collective-permute", size
    return "all-to-all", size
