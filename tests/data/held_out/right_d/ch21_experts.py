import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# style: lax.sort with two keys carries the indices along, a running maximum gives the starts of the runs, a second sort by index puts back.
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    t, k = who.shape
    here = jnp.arange(t * k, dtype=jnp.int32)
    ranked, _, order = lax.sort(
        (who.T.reshape(-1), -gate.T.reshape(-1), here),
        num_keys=2,
        is_stable=True,
    )
    first = jnp.concatenate(
        [jnp.ones(1, dtype=bool), ranked[1:] != ranked[:-1]]
    )
    start = lax.cummax(jnp.where(first, here, 0))
    _, place = lax.sort((order, here - start), num_keys=1)
    return place.reshape(k, t).T


# style: a buffer [E, C + 1, d] whose last place is the bin, all-to-alls over an axis of devices, gates on the tokens before they leave (the expert is linear), column after column at the end.
def moe(
    x: jax.Array,
    gate: jax.Array,
    who: jax.Array,
    w: jax.Array,
    capacity: int,
    mesh: Mesh,
) -> jax.Array:
    n = mesh.shape["e"]
    experts, d, _ = w.shape
    k = who.shape[1]

    def local(x, gate, who, w):
        place = jnp.minimum(queue(who, gate, experts), capacity)
        gated = gate[:, :, None] * x[:, None, :]
        buffer = jnp.zeros((experts, capacity + 1, d), x.dtype)
        buffer = buffer.at[who, place].set(gated)[:, :capacity]
        buffer = buffer.reshape(n, experts // n, capacity, d)
        got = lax.all_to_all(buffer, "e", split_axis=0, concat_axis=0)
        answer = jnp.einsum("secd,edf->secf", got, w)
        back = lax.all_to_all(answer, "e", split_axis=0, concat_axis=0)
        back = back.reshape(experts, capacity, d)
        back = jnp.pad(back, ((0, 0), (0, 1), (0, 0)))
        y = x
        for c in range(k):
            y = y + back[who[:, c], place[:, c]]
        return y

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("e"), P("e"), P("e"), P("e")),
        out_specs=P("e"),
    )(x, gate, who, w)


# style: weighted counts, sums of p and the number of tokens through a psum each, all dividing afterwards.
def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    experts, k = p.shape[1], who.shape[1]

    def local(p, who, real):
        weights = jnp.repeat(real.astype(jnp.int32), k)
        count = jnp.bincount(who.reshape(-1), weights, length=experts)
        count = lax.psum(count, "e")
        mass = lax.psum(jnp.einsum("t,te->e", real.astype(p.dtype), p), "e")
        tokens = lax.psum(real.sum(), "e")
        return experts * jnp.vdot(count / (k * tokens), mass / tokens)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("e"), P("e"), P("e")), out_specs=P()
    )(p, who, real)


# style: bisection between 1 and the longest queue.
def capacity_for(
    who: np.ndarray, experts: int, devices: int, most: float
) -> int:
    device = np.arange(who.shape[0]) // (who.shape[0] // devices)
    lengths = np.zeros((devices, experts), dtype=np.int64)
    np.add.at(lengths, (device[:, None], who), 1)
    low, high = 1, max(1, int(lengths.max()))
    while low < high:
        middle = (low + high) // 2
        dropped = int(np.clip(lengths - middle, 0, None).sum())
        if dropped / who.size <= most:
            high = middle
        else:
            low = middle + 1
    return low


# style: NumPy: exclusive running sums along the rows and the columns of the table, cut at the bound.
def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    table = np.asarray(sent, dtype=np.int64)
    along = np.cumsum(table, axis=1) - table
    ends = np.cumsum(table, axis=0)
    down = np.minimum(ends - table, bound)
    fits = np.minimum(ends, bound) - down
    return (
        along[me].tolist(),
        fits[me].tolist(),
        down[me].tolist(),
        fits[:, me].tolist(),
    )
