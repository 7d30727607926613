from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


# what: adds the block up by a product with ones, and orders the axes of spec as the mesh does
def block_sums(x: jax.Array, mesh: Mesh, spec: P) -> tuple[jax.Array, jax.Array]:
    named = set()
    for entry in spec:
        named |= {entry} if isinstance(entry, str) else set(entry or ())
    cut = tuple(name for name in mesh.axis_names if name in named)

    @partial(jax.shard_map, mesh=mesh, in_specs=spec, out_specs=(spec, P()))
    def both(block):
        ones = jnp.ones(block.shape[0]) @ block
        mine = ones.sum(keepdims=True)[None, :]
        return mine, lax.psum(mine[0, 0], cut)

    return both(x)


# what: moments about the guess as a dot product, one psum of a stacked pair, corrected afterwards outside
def mean_and_variance(x: jax.Array, guess: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    @partial(jax.shard_map, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=P())
    def moments(block, about):
        d = (block - about).ravel()
        return lax.psum(jnp.array([d.sum(), jnp.vdot(d, d)]), mesh.axis_names)

    first, second = moments(x, guess) / x.size
    return guess + first, second - first * first


# what: no argmax: a pmax of the numbers, then a pmax of the negated indices of those that equal it
def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    count = x.shape[0]

    def one(block):
        top = lax.pmax(block.max(), "x")
        here = lax.broadcasted_iota(jnp.int32, block.shape, 0)
        here += lax.axis_index("x").astype(jnp.int32) * block.size
        return -lax.pmax(jnp.where(block == top, -here, -count).max(), "x")

    return jax.shard_map(one, mesh=mesh, in_specs=P("x"), out_specs=P())(x)


# what: closes the ring and blanks the rows that came around it, then adds three shifted views
def smooth(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    down = [(i, (i + 1) % n) for i in range(n)]
    up = [(j, i) for i, j in down]

    def one(block):
        me = lax.axis_index("x")
        above = jnp.where(me > 0, lax.ppermute(block[-1:], "x", down), 0)
        below = jnp.where(me < n - 1, lax.ppermute(block[:1], "x", up), 0)
        tall = jnp.concatenate([above, block, below])
        return sum(tall[k : k + block.shape[0]] for k in range(3)) / 3

    return jax.shard_map(one, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)
