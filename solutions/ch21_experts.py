"""ch21_experts, solved."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh


def queue(who: jax.Array, experts: int) -> jax.Array:
    e = who.T.reshape(-1)  # all first choices, then all second ones
    order = jnp.argsort(e)  # stable
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
        before = queue(who, experts)
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


def balance_loss(p: jax.Array, who: jax.Array, mesh: Mesh) -> jax.Array:
    experts = p.shape[1]

    def on_each(p, who):
        chosen = who[..., None] == jnp.arange(experts)
        f, mean = chosen.astype(p.dtype).mean((0, 1)), p.mean(0)
        f, mean = lax.pmean((f, mean), "e")
        return experts * jnp.sum(f * mean)

    return jax.shard_map(on_each, mesh=mesh, in_specs=P("e"), out_specs=P())(
        p, who
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
    sent: list[list[int]], me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    every = range(len(sent))
    send, receive = sent[me], [sent[i][me] for i in every]
    here = [sum(send[:j]) for j in every]
    there = [sum(sent[i][j] for i in range(me)) for j in every]
    return here, send, there, receive
