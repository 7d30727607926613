import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


def _places(who, gate, experts):
    t, k = who.shape
    flat = who.T.reshape(-1)
    order = jnp.lexsort((-gate.T.reshape(-1), flat))
    count = jnp.bincount(flat, length=experts)
    start = jnp.cumsum(count) - count
    place = jnp.arange(t * k, dtype=jnp.int32) - start[flat[order]]
    out = jnp.zeros(t * k, jnp.int32).at[order].set(place.astype(jnp.int32))
    return out.reshape(k, t).T


# what: this answer believes that the budget is kept when the choices are taken in k parts, one after another: each one's T x E table of ones and its running sum are still far beyond 64 bytes a choice (the result is right).
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    t, k = who.shape
    flat = who.T.reshape(-1)
    order = jnp.argsort(-gate.T.reshape(-1), stable=True)
    before = jnp.zeros(experts, jnp.int32)
    out = jnp.zeros(t * k, jnp.int32)
    for part in jnp.split(order, k):
        mine = flat[part]
        ones = (mine[:, None] == jnp.arange(experts)[None, :]).astype(jnp.int32)
        running = jnp.cumsum(ones, axis=0)
        rank = jnp.take_along_axis(running, mine[:, None], axis=1)[:, 0] - 1
        out = out.at[part].set(rank + before[mine])
        before = before + running[-1]
    return out.reshape(k, t).T


# what: this answer believes that every column of choices needs a trip of its own with its own buffer of E*C*d; the result is right, but it is k times the traffic, with most of it zeros.
def moe(
    x: jax.Array,
    gate: jax.Array,
    who: jax.Array,
    w: jax.Array,
    capacity: int,
    mesh: Mesh,
) -> jax.Array:
    experts, d, _ = w.shape
    k = who.shape[1]

    def local(x, gate, who, w):
        place = _places(who, gate, experts)
        y = x
        for c in range(k):
            slot = jnp.where(
                place[:, c] < capacity,
                who[:, c] * capacity + place[:, c],
                experts * capacity,
            )
            send = jnp.zeros((experts * capacity, d), x.dtype)
            send = send.at[slot].set(x, mode="drop")
            send = send.reshape(experts, capacity, d)
            got = lax.all_to_all(send, "e", 0, 1, tiled=True)
            answer = jnp.einsum("etd,edf->etf", got, w)
            back = lax.all_to_all(answer, "e", 1, 0, tiled=True)
            back = back.reshape(experts * capacity, d)
            mine = back.at[slot].get(mode="fill", fill_value=0)
            y = y + gate[:, c, None] * mine
        return y

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("e"), P("e"), P("e"), P("e")),
        out_specs=P("e"),
    )(x, gate, who, w)


# what: this answer believes that the order of the two sums (over devices, over tokens) makes no difference to the cost: it all-reduces tables of T/n x E and sums over tokens afterwards (the result is right).
def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    experts = p.shape[1]
    k = who.shape[1]

    def local(p, who, real):
        picked = jax.nn.one_hot(who, experts, dtype=p.dtype).sum(1)
        keep = real[:, None]
        picked, p, tokens = lax.psum((picked * keep, p * keep, real.sum()), "e")
        f = picked.sum(0) / (k * tokens)
        mean = p.sum(0) / tokens
        return experts * jnp.sum(f * mean)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("e"), P("e"), P("e")), out_specs=P()
    )(p, who, real)
