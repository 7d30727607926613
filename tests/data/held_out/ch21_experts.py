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
