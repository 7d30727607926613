from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from minipod.traffic import Link  # noqa: F401


# what: rolls the pieces so that each device counts from itself, then two scans around the ring
def ring_all_reduce(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    onward = partial(lax.ppermute, axis_name="x", perm=[(i, (i + 1) % n) for i in range(n)])

    def one(row):
        me = lax.axis_index("x")
        pieces = jnp.roll(row.reshape(n, -1), -me, axis=0)

        def add(carry, piece):
            return onward(carry) + piece, None

        def hand_out(carry, _):
            carry = onward(carry)
            return carry, carry

        mine, _ = lax.scan(add, pieces[-1], pieces[-2::-1])
        _, others = lax.scan(hand_out, mine, length=n - 1)
        backwards = jnp.concatenate([mine[None], others])
        return jnp.roll(backwards[::-1], me + 1, axis=0).reshape(row.shape)

    return jax.shard_map(one, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


# what: stacked (untiled) reduce-scatter of the gradient cut into n pieces, divided before it is sent
def mean_gradient_shards(gradients: dict[str, jax.Array], mesh: Mesh) -> dict[str, jax.Array]:
    n = mesh.shape["x"]

    @partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    def share(gradient):
        pieces = gradient.reshape(n, -1, *gradient.shape[2:]) / n
        return lax.psum_scatter(pieces, "x")

    return {name: share(gradient) for name, gradient in gradients.items()}


# what: untiled all-to-alls on a dimension of experts; the way home is a scatter into the old places
def to_experts(tokens: jax.Array, expert: jax.Array, weights: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    trade = partial(lax.all_to_all, axis_name="x", split_axis=0, concat_axis=0)

    def one(tokens, expert, weights):
        (matrix,) = weights
        places = jnp.argsort(expert).reshape(n, -1)
        done = trade(jnp.einsum("ekd,dh->ekh", trade(tokens[places]), matrix))
        blank = jnp.zeros_like(tokens, shape=(len(tokens), matrix.shape[1]))
        return blank.at[places].set(done)

    return jax.shard_map(one, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(tokens, expert, weights)


# what: match on the shape, then sets of the rows' bytes instead of comparing numbers
def which_collective(before: np.ndarray, after: np.ndarray) -> tuple[str, int]:
    n, k = before.shape
    m = after.shape[1]
    zero = before.dtype.type(0)  # -0.0 + 0.0 is 0.0
    given = {row.tobytes() for row in before + zero}
    rows = {row.tobytes() for row in after + zero}
    blank = bytes(after.itemsize * m)
    if m > k:
        name = "all-gather"
    elif m < k:
        name = "reduce-scatter"
    elif rows - {blank} <= given:
        name = "collective-permute"
    elif len(rows) == 1:
        name = "all-reduce"
    else:
        name = "all-to-all"
    return name, max(k, m) * before.itemsize
