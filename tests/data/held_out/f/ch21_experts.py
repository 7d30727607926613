import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: believes that a stable ascending sort turned round is a stable descending one (equal gates come out in reverse).
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    tokens, k = who.shape
    expert = jnp.ravel(who.T)  # a column after the other
    by_gate = jnp.argsort(jnp.ravel(gate.T), stable=True)[::-1]
    order = by_gate[jnp.argsort(expert[by_gate], stable=True)]
    ranked = expert[order]
    begins = jnp.searchsorted(ranked, jnp.arange(experts))
    before = jnp.arange(tokens * k) - begins[ranked]
    out = jnp.zeros(tokens * k, jnp.int32).at[order].set(before.astype(jnp.int32))
    return out.reshape(k, tokens).T


def _places(who, gate, experts):
    tokens, k = who.shape
    expert, weight = who.T.reshape(-1), gate.T.reshape(-1)
    order = jnp.lexsort((-weight, expert))
    ranked = expert[order]
    begins = jnp.searchsorted(ranked, jnp.arange(experts))
    before = jnp.arange(tokens * k) - begins[ranked]
    return jnp.zeros_like(expert).at[order].set(before).reshape(k, tokens).T


# what: believes that reading beyond the capacity gives 0 just as writing there is dropped (JAX clamps, and a dropped choice gets the answer in the last place).
def moe(
    x: jax.Array,
    gate: jax.Array,
    who: jax.Array,
    w: jax.Array,
    capacity: int,
    mesh: Mesh,
) -> jax.Array:
    experts = w.shape[0]

    def local(x, gate, who, w):
        place = _places(who, gate, experts)
        twice = jnp.broadcast_to(x[:, None], (*who.shape, x.shape[1]))
        out = jnp.zeros((experts, capacity, x.shape[1]), x.dtype)
        out = out.at[who, place].set(twice)
        out = lax.all_to_all(out, "e", 0, 1, tiled=True)
        answer = jnp.einsum("ecd,edf->ecf", out, w)
        answer = lax.all_to_all(answer, "e", 1, 0, tiled=True)
        mine = answer[who, place]
        return x + jnp.sum(gate[..., None] * mine, axis=1)

    e = P("e")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(e, e, e, e), out_specs=e
    )(x, gate, who, w)


# what: believes that the share may not be exceeded on any device, as each has queues of its own, instead of over all choices.
def capacity_for(
    who: np.ndarray, experts: int, devices: int, most: float
) -> int:
    rows = np.asarray(who).reshape(devices, -1)
    lengths = np.stack([np.bincount(r, minlength=experts) for r in rows])
    for places in range(1, int(lengths.max()) + 1):
        dropped = np.clip(lengths - places, 0, None).sum(axis=1)
        if (dropped / rows.shape[1] <= most).all():
            return places
    return max(1, int(lengths.max()))


# what: believes that the operand is packed anew without the rows that are not sent, and counts input_offsets from the cut sizes.
def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    n = len(sent)

    def begin(i, j):
        return min(bound, sum(sent[s][j] for s in range(i)))

    def size(i, j):
        return min(sent[i][j], bound - begin(i, j))

    send_sizes = [size(me, j) for j in range(n)]
    input_offsets = [sum(send_sizes[:j]) for j in range(n)]
    output_offsets = [begin(me, j) for j in range(n)]
    recv_sizes = [size(j, me) for j in range(n)]
    return input_offsets, send_sizes, output_offsets, recv_sizes
