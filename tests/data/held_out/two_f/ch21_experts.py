import itertools

import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: (1) believes that equal gates are ordered by token first, as the array is flattened row by row + (2) takes a choice's number in the queue (itself included, from 1) for how many stand before it.
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    expert, weight = who.reshape(-1), gate.reshape(-1)
    order = jnp.lexsort((-weight, expert))
    lengths = jnp.bincount(expert, length=experts)
    begins = jnp.cumsum(lengths) - lengths
    number = jnp.arange(1, expert.size + 1) - begins[expert[order]]
    out = jnp.zeros(expert.shape, jnp.int32)
    return out.at[order].set(number.astype(jnp.int32)).reshape(who.shape)


# what: (1) believes that f is the share of the tokens that chose an expert, and so divides by tokens, not by choices + (2) believes that padding is out of a mean once it is set to zero, and divides by all rows.
def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    rows, experts = p.shape

    def local(p, who, real):
        chosen = jnp.zeros(experts, p.dtype)
        chosen = chosen.at[who].add(jnp.where(real, 1.0, 0.0)[:, None])
        said = jnp.where(real[:, None], p, 0.0).sum(0)
        many = jnp.sum(real, dtype=p.dtype)
        chosen, said, many = lax.psum((chosen, said, many), "e")
        return experts * jnp.vdot(chosen / many, said / rows)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("e"), P("e"), P("e")), out_specs=P()
    )(p, who, real)


def _starts(sizes):
    return [0, *itertools.accumulate(sizes)][:-1]


# what: (1) believes that output_offsets say where the rows from j begin in the output of me + (2) believes that only the sender has to cut, and that recv_sizes are what the others have for me.
def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    room = [max(0, bound - sum(row[j] for row in sent[:me])) for j in range(len(sent))]
    input_offsets = _starts(sent[me])
    send_sizes = [min(have, free) for have, free in zip(sent[me], room)]
    recv_sizes = [row[me] for row in sent]
    output_offsets = [min(bound, start) for start in _starts(recv_sizes)]
    return input_offsets, send_sizes, output_offsets, recv_sizes
