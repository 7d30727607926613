import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh


# what: (1) all first choices stand before any second choice, whatever their gates are + (2) a stable rising sort read backwards is a stable falling sort (equal gates come out reversed).
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    T, k = who.shape
    expert = who.T.reshape(-1)
    column = jnp.repeat(jnp.arange(k), T)
    order = jnp.argsort(gate.T.reshape(-1), stable=True)[::-1]
    order = order[jnp.argsort(column[order], stable=True)]
    order = order[jnp.argsort(expert[order], stable=True)]
    in_order = expert[order]
    counts = jnp.zeros(experts, jnp.int32).at[expert].add(1)
    first = jnp.cumsum(counts) - counts
    place = jnp.arange(T * k, dtype=jnp.int32) - first[in_order]
    result = jnp.zeros(T * k, jnp.int32).at[order].set(place.astype(jnp.int32))
    return result.reshape(k, T).T


# what: (1) the mean over all tokens is the mean of the devices' own shares + (2) padding must be left out of the choices only; P is the mean over all rows of p.
def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    E, k = p.shape[1], who.shape[1]

    def local(p, who, real):
        live = real.astype(jnp.float32)
        weight = jnp.broadcast_to(live[:, None], who.shape)
        f = jnp.zeros_like(p[0]).at[who].add(weight)
        f = f / jnp.maximum(k * live.sum(), 1.0)
        f, mean = lax.pmean((f, p.mean(axis=0)), "e")
        return E * jnp.sum(f * mean)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("e"), P("e"), P("e")), out_specs=P()
    )(p, who, real)


# what: (1) the rows for j begin in the operand after the rows that are really sent to those before j + (2) a sender whose rows don't all fit sends none of them, and a later one may still fit.
def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    n = len(sent)
    taken = [[0] * n for _ in range(n)]
    begin = [[0] * n for _ in range(n)]
    for j in range(n):
        full = 0
        for i in range(n):
            begin[i][j] = full
            if full + sent[i][j] <= bound:
                taken[i][j] = sent[i][j]
                full += sent[i][j]
    send_sizes = taken[me]
    input_offsets = [sum(send_sizes[:j]) for j in range(n)]
    return input_offsets, list(send_sizes), begin[me], [taken[j][me] for j in range(n)]
