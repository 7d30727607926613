import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import Mesh


# what: believes that a stable sort of the flattened choices settles equal gates as wanted (row by row, the earlier token comes before the earlier column).
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    flat = who.reshape(-1)
    by_gate = jnp.argsort(-gate.reshape(-1), stable=True)
    by_expert = jnp.argsort(flat[by_gate], stable=True)
    order = by_gate[by_expert]
    many = jnp.bincount(flat, length=experts)
    begin = jnp.cumsum(many) - many
    rank = jnp.arange(flat.size) - begin[flat[order]]
    place = jnp.zeros(flat.size, jnp.int32).at[order].set(rank.astype(jnp.int32))
    return place.reshape(who.shape)


def _places(who, gate, experts):
    tokens, k = who.shape
    flat = who.T.reshape(-1)  # column after column
    order = jnp.lexsort((-gate.T.reshape(-1), flat))
    many = jnp.bincount(flat, length=experts)
    begin = jnp.cumsum(many) - many
    rank = (jnp.arange(flat.size) - begin[flat[order]]).astype(jnp.int32)
    place = jnp.zeros(flat.size, jnp.int32).at[order].set(rank)
    return place.reshape(k, tokens).T


# what: believes that reading beyond the end of an array gives 0, as writing there is dropped (the index is clamped: a choice without a place gets the answer to another token).
def moe(
    x: jax.Array,
    gate: jax.Array,
    who: jax.Array,
    w: jax.Array,
    capacity: int,
    mesh: Mesh,
) -> jax.Array:
    experts = w.shape[0]

    def one_device(x, gate, who, w):
        tokens, d = x.shape
        place = _places(who, gate, experts)
        outbox = jnp.zeros((experts, capacity, d), x.dtype)
        for column in range(who.shape[1]):
            outbox = outbox.at[who[:, column], place[:, column]].set(
                x, mode="drop"
            )
        inbox = lax.all_to_all(outbox, "e", split_axis=0, concat_axis=1, tiled=True)
        answers = jnp.einsum("ecd,edf->ecf", inbox, w)
        back = lax.all_to_all(answers, "e", split_axis=1, concat_axis=0, tiled=True)
        mine = back[who, place]
        return x + jnp.sum(mine * gate[..., None], axis=1)

    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(P("e"), P("e"), P("e"), P("e")),
        out_specs=P("e"),
        check_vma=False,
    )(x, gate, who, w)


# what: believes that the loss of the batch is the mean of the devices' own losses if each is weighted by its number of real tokens (a product of two means is no mean).
def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    experts = p.shape[1]
    k = who.shape[1]

    def one_device(p, who, real):
        keep = real.astype(p.dtype)
        tokens = keep.sum()
        safe = jnp.maximum(tokens, 1.0)
        chosen = jax.nn.one_hot(who, experts, dtype=p.dtype).sum(1)
        f = (chosen * keep[:, None]).sum(0) / (safe * k)
        mean = (p * keep[:, None]).sum(0) / safe
        own = experts * jnp.sum(f * mean)
        both = lax.psum(jnp.stack([own * tokens, tokens]), "e")
        return both[0] / both[1]

    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(P("e"), P("e"), P("e")),
        out_specs=P(),
        check_vma=False,
    )(p, who, real)


# what: believes that every single device has to stay below the share, where only the total over all devices has to.
def capacity_for(
    who: np.ndarray, experts: int, devices: int, most: float
) -> int:
    parts = np.asarray(who).reshape(devices, -1)
    lengths = np.stack([np.bincount(part, minlength=experts) for part in parts])
    choices = parts.shape[1]
    places = 1
    while True:
        dropped = np.maximum(lengths - places, 0).sum(axis=1)
        if (dropped <= most * choices).all():
            return places
        places += 1


# what: believes that the rows for j begin in the operand after the rows really sent to the devices before (the rows that are not sent lie there, too).
def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    n = len(sent)

    def begin(i, j):
        return min(bound, sum(sent[before][j] for before in range(i)))

    def fits(i, j):
        return min(sent[i][j], bound - begin(i, j))

    send_sizes = [fits(me, j) for j in range(n)]
    input_offsets = [sum(send_sizes[:j]) for j in range(n)]
    output_offsets = [begin(me, j) for j in range(n)]
    recv_sizes = [fits(i, me) for i in range(n)]
    return input_offsets, send_sizes, output_offsets, recv_sizes
