"""ch21_experts, solved."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh


def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    e, g = who.T.reshape(-1), gate.T.reshape(-1)
    largest = jnp.argsort(-g)  # stable: equal ones stay in their order
    order = largest[jnp.argsort(e[largest])]  # by expert; stable, too
    first = jnp.searchsorted(e[order], jnp.arange(experts))
    place = jnp.arange(e.size) - first[e[order]]
    return jnp.zeros_like(e).at[order].set(place).reshape(who.T.shape).T


def moe(
    x: jax.Array,
    gate: jax.Array,
    who: jax.Array,
    w: jax.Array,
    capacity: int,
    mesh: Mesh,
) -> jax.Array:
    experts, _, d = w.shape

    def on_each(x, gate, who, w):
        before = queue(who, gate, experts)
        slot = who * capacity + before
        slot = jnp.where(before < capacity, slot, experts * capacity)
        box = jnp.zeros((experts * capacity, d))
        box = box.at[slot].set(x[:, None], mode="drop")
        box = box.reshape(experts, capacity, d)
        there = lax.all_to_all(box, "e", 0, 1, tiled=True)  # [E / n, n C, d]
        done = jnp.einsum("end,edh->enh", there, w)
        back = lax.all_to_all(done, "e", 1, 0, tiled=True).reshape(-1, d)
        answers = back.at[slot].get(mode="fill", fill_value=0)
        return x + jnp.sum(gate[..., None] * answers, axis=1)

    return jax.shard_map(on_each, mesh=mesh, in_specs=P("e"), out_specs=P("e"))(
        x, gate, who, w
    )


def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    experts, k = p.shape[1], who.shape[1]

    def on_each(p, who, real):
        chosen = (who[..., None] == jnp.arange(experts)) & real[:, None, None]
        sums = chosen.sum((0, 1)), jnp.where(real[:, None], p, 0).sum(0)
        chosen, p, tokens = lax.psum((*sums, real.sum()), "e")
        return experts * jnp.sum(chosen / (k * tokens) * p / tokens)

    return jax.shard_map(on_each, mesh=mesh, in_specs=P("e"), out_specs=P())(
        p, who, real
    )


def capacity_for(
    who: np.ndarray, experts: int, devices: int, most: float
) -> int:
    queues = np.array(
        [
            np.bincount(mine.reshape(-1), minlength=experts)
            for mine in np.split(who, devices)
        ]
    )
    capacity = 1
    while np.maximum(queues - capacity, 0).sum() > most * who.size:
        capacity += 1
    return capacity


def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    every = range(len(sent))

    def begin(i, j):  # where the rows of i begin in the output of j
        return min(bound, sum(sent[other][j] for other in range(i)))

    def fits(i, j):
        return begin(i + 1, j) - begin(i, j)

    return (
        [sum(sent[me][:j]) for j in every],
        [fits(me, j) for j in every],
        [begin(me, j) for j in every],
        [fits(j, me) for j in every],
    )
