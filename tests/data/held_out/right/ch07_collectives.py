import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from minipod.traffic import Link


# what: two scans, to the left, over pieces put in order beforehand
def ring_all_reduce(x, mesh):
    n = mesh.shape["x"]
    left = [(i, (i - 1) % n) for i in range(n)]

    def ring(block):
        me = lax.axis_index("x")
        pieces = block.reshape(n, -1)[(me + 1 + jnp.arange(n)) % n]

        def add(moving, piece):
            return lax.ppermute(moving, "x", left) + piece, None

        def hand_on(moving, _):
            moving = lax.ppermute(moving, "x", left)
            return moving, moving

        done, _ = lax.scan(add, pieces[0], pieces[1:])
        _, others = lax.scan(hand_on, done, None, length=n - 1)
        sums = jnp.concatenate([done[None], others])
        return sums[(jnp.arange(n) - me) % n].reshape(1, -1)

    return jax.shard_map(ring, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


# what: psum_scatter of n stacked pieces, not tiled; one shard_map a parameter
def mean_gradient_shards(gradients, mesh):
    n = mesh.shape["x"]

    def one(block):
        _, a, *rest = block.shape
        pieces = block.reshape(n, a // n, *rest)
        return lax.psum_scatter(pieces, "x", scatter_dimension=0) / n

    mean = jax.shard_map(one, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    return {name: mean(gradient) for name, gradient in gradients.items()}


# what: no sort: a token's place is its expert's first plus its rank there
def to_experts(tokens, expert, weights, mesh):
    n = mesh.shape["x"]

    def each(tokens, expert, weights):
        its = (expert[:, None] == jnp.arange(n)).astype(jnp.int32)
        rank = (jnp.cumsum(its, axis=0) * its).sum(axis=1) - 1
        place = expert * (tokens.shape[0] // n) + rank
        sent = tokens.at[place].set(tokens)
        there = lax.all_to_all(sent, "x", 0, 0, tiled=True)
        back = lax.all_to_all(there @ weights[0], "x", 0, 0, tiled=True)
        return back[place]

    return jax.shard_map(each, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(tokens, expert, weights)


# what: tells an all-to-all by making it, and a permute by elimination
def which_collective(before, after):
    n, k = before.shape
    size = max(before[0].nbytes, after[0].nbytes)
    if after.shape[1] > k:
        return "all-gather", size
    if after.shape[1] < k:
        return "reduce-scatter", size
    pieces = np.split(before, n, axis=1)
    if np.array_equal(np.stack([p.ravel() for p in pieces]), after):
        return "all-to-all", size
    alike = all(np.array_equal(row, after[0]) for row in after)
    if alike and after.any():
        return "all-reduce", size
    return "collective-permute", size
