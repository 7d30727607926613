import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: this answer believes that each column has a queue of its own, so that the second choices start again from 0 instead of standing behind all first ones.
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    t, k = who.shape
    columns = []
    for c in range(k):
        mine = who[:, c]
        order = jnp.lexsort((-gate[:, c], mine))
        count = jnp.bincount(mine, length=experts)
        start = jnp.cumsum(count) - count
        place = jnp.arange(t, dtype=jnp.int32) - start[mine[order]]
        columns.append(
            jnp.zeros(t, jnp.int32).at[order].set(place.astype(jnp.int32))
        )
    return jnp.stack(columns, axis=1)


# what: this answer believes that the loss of the batch is the mean of the devices' losses, as with a loss that is a mean over tokens; a product of two means is not.
def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    experts = p.shape[1]

    def local(p, who, real):
        one = jnp.repeat(real.astype(p.dtype), who.shape[1])
        count = jnp.zeros(experts, p.dtype).at[who.reshape(-1)].add(one)
        tokens = real.sum()
        f = count / (who.shape[1] * tokens)
        mean = jnp.where(real[:, None], p, 0.0).sum(0) / tokens
        return lax.pmean(experts * jnp.sum(f * mean), "e")

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("e"), P("e"), P("e")), out_specs=P()
    )(p, who, real)


# what: this answer believes that output_offsets say where the rows of sender j begin in my own output (and not where mine begin in the output of j).
def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    n = len(sent)
    begin = [[0] * n for _ in range(n)]
    fits = [[0] * n for _ in range(n)]
    for j in range(n):
        lying = 0
        for i in range(n):
            begin[i][j] = lying
            fits[i][j] = min(sent[i][j], bound - lying)
            lying += fits[i][j]
    input_offsets = [sum(sent[me][:j]) for j in range(n)]
    send_sizes = fits[me]
    recv_sizes = [fits[j][me] for j in range(n)]
    output_offsets = [sum(recv_sizes[:j]) for j in range(n)]
    return input_offsets, send_sizes, output_offsets, recv_sizes
