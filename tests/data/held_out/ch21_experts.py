import jax
import jax.numpy as jnp
import numpy as np
from jax import P
from jax import lax
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


# what: this answer believes (1) that the capacity counts in one queue of the whole batch, for which it gathers all choices, and (2) that a choice without a place takes the token itself as its answer, times the gate.
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
        t = who.shape[0]
        everyone = lax.all_gather(who, "e", axis=0, tiled=True)
        gates = lax.all_gather(gate, "e", axis=0, tiled=True)
        place = lax.dynamic_slice_in_dim(
            _places(everyone, gates, experts), lax.axis_index("e") * t, t, axis=0
        )
        kept = place < capacity
        slot = jnp.where(kept, who * capacity + place, experts * capacity)
        send = jnp.zeros((experts * capacity, d), x.dtype)
        send = send.at[slot].set(x[:, None, :], mode="drop")
        send = send.reshape(experts, capacity, d)
        got = lax.all_to_all(send, "e", 0, 1, tiled=True)
        answer = jnp.einsum("etd,edf->etf", got, w)
        back = lax.all_to_all(answer, "e", 1, 0, tiled=True)
        back = back.reshape(experts * capacity, d)
        y = back.at[slot].get(mode="fill", fill_value=0)
        y = jnp.where(kept[:, :, None], y, x[:, None, :])
        return x + (gate[:, :, None] * y).sum(1)

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("e"), P("e"), P("e"), P("e")),
        out_specs=P("e"),
    )(x, gate, who, w)


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


# what: this answer believes (1) that tokens are dealt to the devices like cards, token t to device t % devices, and (2) that the dropped share must lie below `most` and may not reach it.
def capacity_for(
    who: np.ndarray, experts: int, devices: int, most: float
) -> int:
    lengths = np.stack(
        [
            np.bincount(who[device::devices].reshape(-1), minlength=experts)
            for device in range(devices)
        ]
    )
    longest = int(lengths.max())
    places = 1
    while (
        places < longest
        and np.maximum(lengths - places, 0).sum() / who.size >= most
    ):
        places += 1
    return places
