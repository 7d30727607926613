import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh


def _places(order, who, experts):
    """The place of each choice in its expert's queue; order is sorted by expert."""
    chosen = who[order]
    first = jnp.searchsorted(chosen, jnp.arange(experts))
    place = jnp.arange(who.shape[0]) - first[chosen]
    return jnp.zeros_like(place).at[order].set(place)


# what: a stable sort of the flattened array settles equal gates in the right way (it puts the earlier token first, not the earlier column).
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    flat_who, flat_gate = who.reshape(-1), gate.reshape(-1)
    order = jnp.lexsort((-flat_gate, flat_who))
    places = _places(order, flat_who, experts)
    return places.reshape(who.shape).astype(jnp.int32)


# what: reading at an index outside of an array gives 0, as writing there does nothing, so choices without a place need no mask.
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
        t, k = who.shape
        flat_who = who.T.reshape(-1)
        flat_gate = gate.T.reshape(-1)
        order = jnp.lexsort((-flat_gate, flat_who))
        place = _places(order, flat_who, experts)
        token = jnp.tile(jnp.arange(t), k)
        there = jnp.zeros((experts, capacity, x.shape[1]), x.dtype)
        there = there.at[flat_who, place].set(x[token], mode="drop")
        there = lax.all_to_all(there, "e", split_axis=0, concat_axis=1, tiled=True)
        answers = jnp.einsum("ecd,edf->ecf", there, w)
        back = lax.all_to_all(answers, "e", split_axis=1, concat_axis=0, tiled=True)
        mine = back[flat_who, place] * flat_gate[:, None]
        return x.at[token].add(mine)

    cut = P("e")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(cut, cut, cut, cut), out_specs=cut
    )(x, gate, who, w)


# what: f[i] is the share of the tokens that chose expert i (as where each token chooses one expert), not the share of all choices.
def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    experts = p.shape[1]

    def local(p, who, real):
        live = real.astype(p.dtype)
        hits = jax.nn.one_hot(who, experts, dtype=p.dtype).sum(axis=1)
        chosen = (hits * live[:, None]).sum(axis=0)
        said = jnp.where(real[:, None], p, 0.0).sum(axis=0)
        chosen, said, tokens = lax.psum((chosen, said, live.sum()), "e")
        return experts * jnp.sum((chosen / tokens) * (said / tokens))

    cut = P("e")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(cut, cut, cut), out_specs=P()
    )(p, who, real)


# what: each device must keep to the share on its own choices; the device with most dropped decides.
def capacity_for(
    who: np.ndarray, experts: int, devices: int, most: float
) -> int:
    parts = np.asarray(who).reshape(devices, -1)
    lengths = np.stack([np.bincount(part, minlength=experts) for part in parts])
    choices = parts.shape[1]
    capacity = 1
    while True:
        dropped = np.maximum(lengths - capacity, 0).sum(axis=1)
        if (dropped / choices).max() <= most:
            return capacity
        capacity += 1


# what: the operand holds only the rows that are really sent, so the input offsets are the running sum of the send sizes.
def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    n = len(sent)

    def begins(i, j):
        return min(bound, sum(sent[s][j] for s in range(i)))

    def taken(i, j):
        return min(sent[i][j], bound - begins(i, j))

    send_sizes = [taken(me, j) for j in range(n)]
    output_offsets = [begins(me, j) for j in range(n)]
    recv_sizes = [taken(j, me) for j in range(n)]
    input_offsets = [sum(send_sizes[:j]) for j in range(n)]
    return input_offsets, send_sizes, output_offsets, recv_sizes
