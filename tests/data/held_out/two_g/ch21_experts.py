import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh


# what: (1) believes that all first choices come before all second ones, and the gates count only within a column + (2) believes that an ascending stable sort, read backward, keeps equal gates in the order of their tokens.
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    tokens, k = who.shape
    column = jnp.broadcast_to(jnp.arange(k, dtype=jnp.int32), (tokens, k)).ravel()
    expert = who.ravel()
    descending = jnp.argsort(gate.ravel(), stable=True)[::-1]
    order = descending[jnp.lexsort((column[descending], expert[descending]))]
    sorted_experts = expert[order]
    begin = jnp.searchsorted(sorted_experts, jnp.arange(experts), side="left")
    rank = jnp.arange(expert.size) - begin[sorted_experts]
    answer = jnp.zeros((expert.size,), jnp.int32)
    return answer.at[order].set(rank.astype(jnp.int32)).reshape(tokens, k)


# what: (1) believes that the mean of the devices' own means is the mean over all real tokens + (2) believes that padding need not be left out of the shares f, as the router's numbers of it are masked.
def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    experts = p.shape[-1]

    def part(p, who, real):
        mask = real[:, None].astype(jnp.float32)
        own = jnp.sum(p * mask, axis=0) / jnp.maximum(mask.sum(), 1.0)
        mean = lax.pmean(own, "e")
        counts = jnp.zeros(experts).at[who.ravel()].add(1.0)
        share = lax.pmean(counts / who.size, "e")
        return experts * jnp.dot(share, mean)

    return jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(P("e"), P("e"), P("e")),
        out_specs=P(),
        check_vma=False,
    )(p, who, real)


# what: (1) believes that output_offsets say where the rows that come from j begin in the output of me + (2) believes that rows which are not sent take no room in the operand.
def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    n = len(sent)
    taken = [[0] * n for _ in range(n)]
    for receiver in range(n):
        room = bound
        for sender in range(n):
            taken[sender][receiver] = min(room, sent[sender][receiver])
            room -= taken[sender][receiver]

    def starts(sizes):
        return [sum(sizes[:j]) for j in range(n)]

    send_sizes = list(taken[me])
    recv_sizes = [taken[sender][me] for sender in range(n)]
    return starts(send_sizes), send_sizes, starts(recv_sizes), recv_sizes
