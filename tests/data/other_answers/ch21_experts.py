"""Other answers to the exercises of ch21_experts: right ones, known mistakes, and other wrong ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

from lessons.ch21_experts import mistakes


def queue__right(who, gate, experts):
    """By the ranks of one sort with two keys, and the counts of the experts."""
    flat = who.T.ravel()
    rank = jnp.argsort(jnp.lexsort((-gate.T.ravel(), flat)))
    count = jnp.bincount(flat, length=experts)
    begin = jnp.cumsum(count) - count
    return (rank - begin[flat]).reshape(who.shape[1], -1).T


def queue__right_otherwise(who, gate, experts):
    """A running count for each expert, choice after choice, the largest gates first."""

    def one(so_far, e):
        return so_far.at[e].add(1), so_far[e]

    flat = who.T.ravel()
    order = jnp.argsort(gate.T.ravel(), descending=True)
    _, places = lax.scan(one, jnp.zeros(experts, jnp.int32), flat[order])
    _, places = lax.sort_key_val(order, places)
    return places.reshape(who.T.shape).T


def queue__reshaped_at_once(who, gate, experts):
    t, k = who.shape
    order = jnp.lexsort((-gate.T.ravel(), who.T.ravel()))
    line = who.T.ravel()[order]
    first = jnp.searchsorted(line, line)
    place = jnp.zeros(t * k, jnp.int32)
    place = place.at[order].set(jnp.arange(t * k, dtype=jnp.int32) - first)
    return place.reshape(t, k)


def queue__from_behind(who, gate, experts):
    from solutions.ch21_experts import queue

    return queue(who[::-1], gate[::-1], experts)[::-1]


def queue__of_all_experts(who, gate, experts):
    """The rank of each gate among all choices."""
    rank = jnp.argsort(jnp.argsort(-gate.T.ravel()))
    return rank.astype(jnp.int32).reshape(who.T.shape).T


def moe__right(x, gate, who, w, capacity, mesh):
    """Without mode: a place that nobody has, and zeros for it on the way back."""
    n, d = w.shape[0], x.shape[1]

    def mine(x, gate, who, w):
        place = queue__right(who, gate, n)
        kept = place < capacity
        slot = jnp.where(kept, who * capacity + place, n * capacity)
        rows = jnp.zeros((n * capacity + 1, d))
        for c in range(who.shape[1]):
            rows = rows.at[slot[:, c]].set(x)
        box = rows[:-1].reshape(mesh.size, -1, capacity, d)
        there = lax.all_to_all(box, "e", 0, 0)  # [sender, own, C, d]
        done = jnp.einsum("socd,odh->soch", there, w)
        back = lax.all_to_all(done, "e", 0, 0).reshape(-1, d)
        y = x
        for c in range(who.shape[1]):
            got = back[jnp.where(kept[:, c], slot[:, c], 0)]
            y = y + jnp.where(kept[:, c], gate[:, c], 0)[:, None] * got
        return y

    spec = P("e", None)
    return jax.jit(jax.shard_map(mine, mesh=mesh, in_specs=(spec, spec, spec, P("e")), out_specs=spec))(x, gate, who, w)


def _before(who, gate):
    """Each choice held against each other one."""
    e, g = who.T.ravel(), gate.T.ravel()
    earlier = jnp.tri(len(e), k=-1, dtype=bool)
    first = (g[None] > g[:, None]) | (g[None] == g[:, None]) & earlier
    rivals = first & (e[None] == e[:, None])
    return rivals.sum(1).reshape(who.T.shape).T


def moe__right_otherwise(x, gate, who, w, capacity, mesh):
    """Packed by one-hot products, as one did it first."""
    n = w.shape[0]

    def mine(x, gate, who, w):
        at = jax.nn.one_hot(who, n)[..., None]
        at = at * jax.nn.one_hot(_before(who, gate), capacity)[:, :, None]
        box = jnp.einsum("tkec,td->ecd", at, x)
        there = lax.all_to_all(box, "e", split_axis=0, concat_axis=1, tiled=True)
        done = jax.vmap(jnp.matmul)(there, w)
        back = lax.all_to_all(done, "e", split_axis=1, concat_axis=0, tiled=True)
        return x + jnp.einsum("tkec,tk,ech->th", at, gate, back)

    return jax.shard_map(mine, mesh=mesh, in_specs=P("e"), out_specs=P("e"))(x, gate, who, w)


def _ranked(flat, gates, experts):
    count = jnp.bincount(flat, length=experts)
    ranks = jnp.argsort(jnp.lexsort((-gates, flat)))
    return ranks - (jnp.cumsum(count) - count)[flat]


def _line(who, gate, n):
    return _ranked(who.T.ravel(), gate.T.ravel(), n).reshape(who.T.shape).T


def _changed(**new):
    def change(name, value):
        name = name.replace(" ", "_")
        if name == "y":
            return new.get("y", lambda y, x, lost: y)(*value)
        found = new.get(name, value)
        return found(value) if callable(found) else found

    return change


def _ways(x, gate, who, w, capacity, mesh, change=None, line=_line):
    """By one-hot arrays. change: of a step's name and its value."""
    n, keep = w.shape[0], change or _changed()

    def mine(x, gate, who, w):
        room = keep("room", capacity)
        place = line(who, gate, n)
        if keep("clipped", False):
            last = who * room + place
            last = jnp.where(place < room, last, n * room - 1)
            got, put = jax.nn.one_hot(last, n * room), place < room
            at = (got * put[..., None]).reshape(*who.shape, n, room)
            got = got.reshape(at.shape)
        else:
            at = jax.nn.one_hot(who, n)[..., None]
            got = at = at * jax.nn.one_hot(place, room)[:, :, None]
        box = jnp.einsum("tkec,td->ecd", at, x)
        there = lax.all_to_all(box.reshape(mesh.size, -1, *box.shape[1:]), "e", 0, 0)  # [sender, own, C, d]
        if keep("by sender", False):
            there = there.reshape(len(w), -1, there.shape[-1])
            done = jnp.einsum("ond,odh->onh", there, w)
            done = done.reshape(len(w), mesh.size, -1, done.shape[-1])
            done = done.swapaxes(0, 1)
        else:
            done = jnp.einsum("socd,odh->soch", there, w)
        back = lax.all_to_all(done, "e", 0, 0)
        if keep("another order", False):
            back = back.swapaxes(0, 1)
        back = back.reshape(box.shape)
        answers = jnp.einsum("tkec,ech->tkh", got, back)
        y = x + jnp.einsum("tk,tkh->th", keep("gate", gate), answers)
        lost = (place >= room).all(1)[:, None]
        return keep("y", (y, x, lost))

    f = jax.shard_map(mine, mesh=mesh, in_specs=P("e"), out_specs=P("e"))
    return f(x, gate, who, w)


def moe__by_sender(*given):
    return _ways(*given, _changed(by_sender=True))


def moe__by_sender_and_back(x, gate, who, w, capacity, mesh):
    experts, d, _ = w.shape

    def local(x, gate, who, w):
        place = _line(who, gate, experts)
        slot = who * capacity + place
        slot = jnp.where(place < capacity, slot, experts * capacity)
        send = jnp.zeros((experts * capacity, d), x.dtype)
        send = send.at[slot].set(x[:, None, :], mode="drop")
        send = send.reshape(experts, capacity, d)
        got = lax.all_to_all(send, "e", 0, 0, tiled=True)
        got = got.reshape(experts // mesh.size, mesh.size * capacity, d)
        answer = jnp.einsum("etd,edf->etf", got, w)
        answer = answer.reshape(experts, capacity, d)
        back = lax.all_to_all(answer, "e", 0, 0, tiled=True)
        back = back.reshape(experts * capacity, d)
        y = back.at[slot].get(mode="fill", fill_value=0)
        return x + (gate[:, :, None] * y).sum(1)

    return jax.shard_map(local, mesh=mesh, in_specs=P("e"), out_specs=P("e"))(x, gate, who, w)


def moe__everywhere(x, gate, who, w, capacity, mesh):
    """Every device ends with all tokens."""
    y = mistakes._moe(x, gate, who, w, capacity, mesh)
    return lax.with_sharding_constraint(y, jax.NamedSharding(mesh, P()))


def moe__equal_ones_turned(x, gate, who, w, capacity, mesh):
    queue = mistakes.queue__equal_ones_turned
    return mistakes._moe(x, gate, who, w, capacity, mesh, queue=queue)


def balance_loss__right(p, who, real, mesh):
    """Padding is sent to an expert that is not there; all sums in one array."""

    def of(p, who, real):
        none = p.shape[1]
        who = jnp.where(real[:, None], who, none)
        f = jnp.zeros(none).at[who.ravel()].add(1, mode="drop")
        tokens = jnp.full(1, real.sum(), float)
        sums = lax.psum(jnp.concatenate([f, real @ p, tokens]), "e")
        f, p, tokens = jnp.split(sums, [none, 2 * none])
        return none * (f @ p) / tokens[0] ** 2 / who.shape[1]

    return jax.shard_map(of, mesh=mesh, in_specs=P("e"), out_specs=P())(p, who, real)


def balance_loss__right_otherwise(p, who, real, mesh):
    """Over all tokens at once: the compiler adds over the devices."""
    tokens = real.sum()
    f = jnp.einsum("tke,t->e", jax.nn.one_hot(who, p.shape[1]), 1.0 * real)
    mean = jnp.einsum("te,t->e", p, 1.0 * real) / tokens
    loss = p.shape[1] * jnp.sum(f / who.shape[1] / tokens * mean)
    return lax.with_sharding_constraint(loss, jax.NamedSharding(mesh, P()))


def _on(p, who, real, mesh, of):
    spec = P("e", None)
    return jax.shard_map(of, mesh=mesh, in_specs=(spec, spec, P("e")), out_specs=P())(p, who, real)


def _counted(p, who, real):
    f = jax.nn.one_hot(who, p.shape[1]).sum(1)
    return real @ f, real @ p, real.sum()


def balance_loss__over_all_tokens(p, who, real, mesh):
    def of(p, who, real):
        f, total, _ = _counted(p, who, real)
        f, mean = lax.pmean((f / who.size, total / len(p)), "e")
        return p.shape[1] * (f @ mean)

    return _on(p, who, real, mesh, of)


def balance_loss__gathered(p, who, real, mesh):
    whole = jax.NamedSharding(mesh, P())
    given = (lax.with_sharding_constraint(a, whole) for a in (p, who, real))
    f, total, tokens = _counted(*given)
    return p.shape[1] * (f @ total) / tokens**2 / who.shape[1]


def balance_loss__twice(p, who, real, mesh):
    from solutions.ch21_experts import balance_loss

    return 2 * balance_loss(p, who, real, mesh)


def balance_loss__least_liked(p, who, real, mesh):
    def of(p, who, real):
        who = jnp.argmin(p, 1)[:, None]
        sums = lax.psum(mistakes._sums(p, who, real), "e")
        return mistakes._loss(*sums, 1)

    return mistakes._on_each(p, who, real, mesh, of)


def capacity_for__right(who, experts, devices, most):
    """By bisection over the lengths of the queues."""
    home = np.repeat(np.arange(devices), who.size // devices)
    queues = np.bincount(home * experts + who.ravel(), minlength=devices * experts)
    low, high = 1, max(int(queues.max()), 1)
    while low < high:
        middle = (low + high) // 2
        if (queues - middle).clip(0).sum() <= most * who.size:
            high = middle
        else:
            low = middle + 1
    return low


def capacity_for__one_more(who, experts, devices, most):
    from solutions.ch21_experts import capacity_for

    return capacity_for(who, experts, devices, most) + 1


def ragged_offsets__right(sent, bound, me):
    """By sums along the table that stop at the bound."""
    table = np.asarray(sent)
    ends = np.minimum(np.cumsum(table, axis=0), bound)
    begins = np.minimum(np.cumsum(table, axis=0) - table, bound)
    fits = ends - begins
    return (
        (np.cumsum(table[me]) - table[me]).tolist(),
        fits[me].tolist(),
        begins[me].tolist(),
        fits[:, me].tolist(),
    )


def ragged_offsets__of_the_next(sent, bound, me):
    from solutions.ch21_experts import ragged_offsets

    return ragged_offsets(sent, bound, (me + 1) % len(sent))


def ragged_offsets__all_or_nothing(sent, bound, me):
    """A sender whose rows do not all fit sends none."""

    def fits(i, j):
        all_fit = sum(sent[other][j] for other in range(i + 1)) <= bound
        return sent[i][j] if all_fit else 0

    from solutions.ch21_experts import ragged_offsets

    here, _, there, _ = ragged_offsets(sent, bound, me)
    every = range(len(sent))
    return (
        here,
        [fits(me, j) for j in every],
        there,
        [fits(j, me) for j in every],
    )
