import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


def _lengths(who, experts, devices):
    parts = who.reshape(devices, -1)
    return np.stack([np.bincount(part, minlength=experts) for part in parts])


# style: lexsort by expert and gate of the columns laid one after another, starts from a bincount, a scatter to put back.
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    t, k = who.shape
    flat = who.T.reshape(-1)
    order = jnp.lexsort((-gate.T.reshape(-1), flat))
    count = jnp.bincount(flat, length=experts)
    start = jnp.cumsum(count) - count
    place = jnp.arange(t * k, dtype=jnp.int32) - start[flat[order]]
    out = jnp.zeros(t * k, jnp.int32).at[order].set(place.astype(jnp.int32))
    return out.reshape(k, t).T


# style: one flat buffer of E*C rows with an index past its end for what is dropped; tiled all-to-alls that split experts and join places, and the reverse.
def moe(
    x: jax.Array,
    gate: jax.Array,
    who: jax.Array,
    w: jax.Array,
    capacity: int,
    mesh: Mesh,
) -> jax.Array:
    experts, d, _ = w.shape

    def local(x, gate, who, w):
        place = queue(who, gate, experts)
        slot = jnp.where(place < capacity, who * capacity + place, experts * capacity)
        send = jnp.zeros((experts * capacity, d), x.dtype)
        send = send.at[slot].set(x[:, None, :], mode="drop")
        send = send.reshape(experts, capacity, d)
        got = lax.all_to_all(send, "e", 0, 1, tiled=True)
        answer = jnp.einsum("etd,edf->etf", got, w)
        back = lax.all_to_all(answer, "e", 1, 0, tiled=True)
        back = back.reshape(experts * capacity, d)
        y = back.at[slot].get(mode="fill", fill_value=0)
        return x + (gate[:, :, None] * y).sum(1)

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("e"), P("e"), P("e"), P("e")),
        out_specs=P("e"),
    )(x, gate, who, w)


# style: counts and sums of the real tokens and their number in one array, summed in one all-reduce.
def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    experts = p.shape[1]
    k = who.shape[1]

    def local(p, who, real):
        one = jnp.repeat(real.astype(p.dtype), k)
        count = jnp.zeros(experts, p.dtype).at[who.reshape(-1)].add(one)
        mass = jnp.where(real[:, None], p, 0.0).sum(0)
        tokens = jnp.broadcast_to(real.sum().astype(p.dtype), (1,))
        sums = lax.psum(jnp.concatenate([count, mass, tokens]), "e")
        f = sums[:experts] / (k * sums[-1])
        mean = sums[experts:-1] / sums[-1]
        return experts * jnp.sum(f * mean)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("e"), P("e"), P("e")), out_specs=P()
    )(p, who, real)


# style: count the queues, then try 1, 2, 3, ... places.
def capacity_for(
    who: np.ndarray, experts: int, devices: int, most: float
) -> int:
    lengths = _lengths(who, experts, devices)
    places = 1
    while np.maximum(lengths - places, 0).sum() / who.size > most:
        places += 1
    return places


# style: list comprehensions with sums of the table.
def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    n = len(sent)
    input_offsets = [sum(sent[me][:j]) for j in range(n)]
    output_offsets = [
        min(bound, sum(sent[i][j] for i in range(me))) for j in range(n)
    ]
    send_sizes = [
        min(sent[me][j], bound - output_offsets[j]) for j in range(n)
    ]
    recv_sizes = [
        max(0, min(sent[j][me], bound - sum(sent[i][me] for i in range(j))))
        for j in range(n)
    ]
    return input_offsets, send_sizes, output_offsets, recv_sizes
