"""Mistakes of ch21_experts once more, spelled differently, where that may tell: the name must be the same.

Some are answers of people who had only the statements.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P


def _ranked(flat, gates, experts):
    count = jnp.bincount(flat, length=experts)
    ranks = jnp.argsort(jnp.lexsort((-gates, flat)))
    return ranks - (jnp.cumsum(count) - count)[flat]


def _line(who, gate, n):
    return _ranked(who.T.ravel(), gate.T.ravel(), n).reshape(who.T.shape).T


def queue__by_column(who, gate, experts):
    return _line(who, jnp.ones_like(gate), experts)


def queue__smallest_first(who, gate, experts):
    return _line(who, 1 - gate, experts)


def queue__equal_ones_turned(who, gate, experts):
    e, g = who.T.ravel(), gate.T.ravel()
    order = jnp.lexsort((g, -e))[::-1]
    count = jnp.bincount(e, length=experts)
    place = jnp.arange(e.size) - (jnp.cumsum(count) - count)[e[order]]
    _, place = lax.sort_key_val(order, place)
    return place.reshape(who.T.shape).T


def queue__token_by_token(who, gate, experts):
    return _ranked(who.ravel(), gate.ravel(), experts).reshape(who.shape)


def queue__by_expert_first(who, gate, experts):
    e, g = who.T.ravel(), gate.T.ravel()
    order = jnp.lexsort((e, -g))
    count = jnp.bincount(e, length=experts)
    place = jnp.arange(e.size) - (jnp.cumsum(count) - count)[e[order]]
    _, place = lax.sort_key_val(order, place)
    return place.reshape(who.T.shape).T


def queue__columns_apart(who, gate, experts):
    return jax.vmap(lambda e, g: _ranked(e, g, experts), 1, 1)(who, gate)


def queue__from_one(who, gate, experts):
    return _line(who, gate, experts) + 1


def queue__one_hot(who, gate, experts):
    e = who.T.ravel()
    order = jnp.argsort(gate.T.ravel(), descending=True)
    hot = (e[order][:, None] == jnp.arange(experts)).astype(jnp.int32)
    so_far = jnp.cumsum(hot, axis=0)
    place = jnp.take_along_axis(so_far, e[order][:, None], axis=1)[:, 0] - 1
    _, place = lax.sort_key_val(order, place)
    return place.reshape(who.T.shape).T


def queue__back_by_order(who, gate, experts):
    flat = who.T.ravel()
    order = jnp.lexsort((-gate.T.ravel(), flat))
    count = jnp.bincount(flat, length=experts)
    begin = jnp.cumsum(count) - count
    place = jnp.arange(flat.size) - begin[flat[order]]
    return jnp.take(place, order).reshape(who.T.shape).T


def queue__only_chosen_experts(who, gate, experts):
    t, k = who.shape
    flat = who.T.reshape(-1)
    order = jnp.lexsort((-gate.T.reshape(-1), flat))
    ranked = flat[order]
    _, start = jnp.unique(ranked, return_index=True, size=experts)
    place = jnp.arange(t * k, dtype=jnp.int32) - start[ranked].astype(jnp.int32)
    out = jnp.zeros(t * k, jnp.int32).at[order].set(place)
    return out.reshape(k, t).T


def queue__reshaped_at_once(who, gate, experts):
    t, k = who.shape
    order = jnp.lexsort((-gate.T.ravel(), who.T.ravel()))
    line = who.T.ravel()[order]
    first = jnp.searchsorted(line, line)
    place = jnp.zeros(t * k, jnp.int32)
    place = place.at[order].set(jnp.arange(t * k, dtype=jnp.int32) - first)
    return place.reshape(t, k)


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
        there = lax.all_to_all(
            box.reshape(mesh.size, -1, *box.shape[1:]), "e", 0, 0
        )  # [sender, own, C, d]
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


def _changed(**new):
    def change(name, value):
        name = name.replace(" ", "_")
        if name == "y":
            return new.get("y", lambda y, x, lost: y)(*value)
        found = new.get(name, value)
        return found(value) if callable(found) else found

    return change


def moe__another_order(x, gate, who, w, capacity, mesh):
    n, d = w.shape[0], x.shape[1]

    def mine(x, gate, who, w):
        at = jax.nn.one_hot(who, n)[..., None]
        at = at * jax.nn.one_hot(_line(who, gate, n), capacity)[:, :, None]
        box = jnp.einsum("tkec,td->ecd", at, x).reshape(
            mesh.size, -1, capacity, d
        )
        there = lax.all_to_all(box, "e", 0, 0)
        done = jnp.einsum("socd,odh->soch", there, w)
        back = lax.all_to_all(done, "e", 0, 0).swapaxes(0, 1)
        answers = back.reshape(n, capacity, d)
        return x + jnp.einsum("tkec,tk,ech->th", at, gate, answers)

    return jax.shard_map(mine, mesh=mesh, in_specs=P("e"), out_specs=P("e"))(
        x, gate, who, w
    )


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

    return jax.shard_map(local, mesh=mesh, in_specs=P("e"), out_specs=P("e"))(
        x, gate, who, w
    )


def moe__no_gates(*given):
    return _ways(*given, _changed(gate=jnp.ones_like))


def moe__normalised_again(*given):
    def again(gate):
        return gate / (gate[:, :1] + gate[:, 1:])

    return _ways(*given, _changed(gate=again))


def moe__whole_batch(x, gate, who, w, capacity, mesh):
    return _ways(x, gate, who, w, capacity * mesh.shape["e"], mesh)


def moe__no_residual(*given):
    return _ways(*given, _changed(y=lambda y, x, lost: y - x))


def moe__dropped_are_zeros(*given):
    return _ways(*given, _changed(y=lambda y, x, lost: y * ~lost))


def moe__clipped(*given):
    return _ways(*given, _changed(clipped=True))


def moe__by_column(*given):
    return _ways(*given, line=queue__by_column)


def _local(x, gate, who, w, capacity, mesh, of):
    """of: of a device's part, with its queue and the exchange."""

    def swap(box):
        got = lax.all_to_all(box, "e", 0, 1, tiled=True)
        answer = jnp.einsum("etd,edf->etf", got, w_of[0])
        return lax.all_to_all(answer, "e", 1, 0, tiled=True)

    w_of = []

    def local(x, gate, who, w):
        w_of[:] = [w]
        return of(x, gate, who, _line(who, gate, w.shape[0] * mesh.size), swap)

    return jax.shard_map(local, mesh=mesh, in_specs=P("e"), out_specs=P("e"))(
        x, gate, who, w
    )


def moe__last_place(x, gate, who, w, capacity, mesh):
    def of(x, gate, who, place, swap):
        box = jnp.zeros((w.shape[0], capacity, x.shape[1]))
        back = swap(box.at[who, place].set(x[:, None, :]))
        return x + (gate[:, :, None] * back[who, place]).sum(1)

    return _local(x, gate, who, w, capacity, mesh, of)


def moe__gate_passed_on(x, gate, who, w, capacity, mesh):
    def of(x, gate, who, place, swap):
        kept = place < capacity
        left = jnp.where(kept, gate, 0.0)
        total = left.sum(1, keepdims=True)
        scale = gate.sum(1, keepdims=True) / jnp.where(total > 0, total, 1.0)
        box = jnp.zeros((w.shape[0], capacity, x.shape[1]))
        back = swap(box.at[who, place].set(x[:, None, :], mode="drop"))
        y = back.at[who, place].get(mode="fill", fill_value=0)
        return x + ((left * scale)[:, :, None] * y).sum(1)

    return _local(x, gate, who, w, capacity, mesh, of)


def moe__into_the_next(x, gate, who, w, capacity, mesh):
    def of(x, gate, who, place, swap):
        slot, d = who * capacity + place, x.shape[1]
        send = jnp.zeros((w.shape[0] * capacity, d))
        send = send.at[slot].set(x[:, None, :], mode="drop")
        back = swap(send.reshape(-1, capacity, d)).reshape(-1, d)
        y = back.at[slot].get(mode="fill", fill_value=0)
        return x + (gate[:, :, None] * y).sum(1)

    return _local(x, gate, who, w, capacity, mesh, of)


def _on(p, who, real, mesh, of):
    spec = P("e", None)
    return jax.shard_map(
        of, mesh=mesh, in_specs=(spec, spec, P("e")), out_specs=P()
    )(p, who, real)


def _shares(p, who, real):
    """Of one device's real tokens: f and the mean of p."""
    hot = jnp.zeros(p.shape[1]).at[who.ravel()]
    f = hot.add(jnp.repeat(1.0 * real, who.shape[1]))
    tokens = real.sum()
    return f / tokens / who.shape[1], real @ p / tokens


def balance_loss__mean_of_losses(p, who, real, mesh):
    def of(p, who, real):
        f, mean = _shares(p, who, real)
        return lax.psum(f @ mean, "e") * p.shape[1] / mesh.size

    return _on(p, who, real, mesh, of)


def balance_loss__weighted_losses(p, who, real, mesh):
    experts, k = p.shape[1], who.shape[1]

    def local(p, who, real):
        real = real.astype(p.dtype)
        many = real.sum()
        some = jnp.maximum(many, 1.0)
        chosen = jax.nn.one_hot(who, experts, dtype=p.dtype).sum(1)
        f = (real @ chosen) / (some * k)
        mean = (real @ p) / some
        loss = experts * jnp.sum(f * mean)
        above, below = lax.psum(jnp.stack([loss * many, many]), "e")
        return above / below

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("e"), P("e"), P("e")), out_specs=P()
    )(p, who, real)


def balance_loss__mean_of_means(p, who, real, mesh):
    def of(p, who, real):
        f, mean = (lax.pmean(a, "e") for a in _shares(p, who, real))
        return p.shape[1] * (f @ mean)

    return _on(p, who, real, mesh, of)


def balance_loss__padding_counted(p, who, real, mesh):
    def of(p, who, real):
        f, mean = lax.pmean(_shares(p, who, jnp.full(len(p), True)), "e")
        return p.shape[1] * (f @ mean)

    return _on(p, who, real, mesh, of)


def _counted(p, who, real):
    f = jax.nn.one_hot(who, p.shape[1]).sum(1)
    return real @ f, real @ p, real.sum()


def balance_loss__padding_in_p(p, who, real, mesh):
    def of(p, who, real):
        f, _, tokens = lax.psum(_counted(p, who, real), "e")
        mean = lax.psum(p.sum(0), "e") / len(p) / mesh.size
        return p.shape[1] * (f @ mean) / tokens / who.shape[1]

    return _on(p, who, real, mesh, of)


def balance_loss__over_all_tokens(p, who, real, mesh):
    def of(p, who, real):
        f, total, _ = _counted(p, who, real)
        f, mean = lax.pmean((f / who.size, total / len(p)), "e")
        return p.shape[1] * (f @ mean)

    return _on(p, who, real, mesh, of)


def balance_loss__not_times_experts(p, who, real, mesh):
    def of(p, who, real):
        f, total, tokens = lax.psum(_counted(p, who, real), "e")
        return (f @ total) / tokens**2 / who.shape[1]

    return _on(p, who, real, mesh, of)


def balance_loss__per_token(p, who, real, mesh):
    def of(p, who, real):
        f, total, tokens = lax.psum(_counted(p, who, real), "e")
        return p.shape[1] * (f / tokens) @ (total / tokens)

    return _on(p, who, real, mesh, of)


def balance_loss__first_choices(p, who, real, mesh):
    def of(p, who, real):
        count = jnp.zeros(p.shape[1]).at[who[:, 0]].add(1.0 * real)
        sums = lax.psum(jnp.stack([count, real @ p]), "e")
        f, mean = sums / lax.psum(real.sum(), "e")
        return p.shape[1] * jnp.sum(f * mean)

    return _on(p, who, real, mesh, of)


def balance_loss__gathered(p, who, real, mesh):
    whole = jax.NamedSharding(mesh, P())
    given = (lax.with_sharding_constraint(a, whole) for a in (p, who, real))
    f, total, tokens = _counted(*given)
    return p.shape[1] * (f @ total) / tokens**2 / who.shape[1]


def balance_loss__squared_p(p, who, real, mesh):
    experts = p.shape[1]

    def local(p, who, real):
        mass, count = lax.psum(((p * real[:, None]).sum(0), real.sum()), "e")
        mean = mass / count
        return experts * jnp.sum(mean * mean)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("e"), P("e"), P("e")), out_specs=P()
    )(p, who, real)


def balance_loss__p_of_choosers(p, who, real, mesh):
    def of(p, who, real):
        picked = jax.nn.one_hot(who, p.shape[1], dtype=p.dtype).sum(1)
        picked = picked * real[:, None]
        count, mass = lax.psum(
            jnp.stack([picked.sum(0), (p * picked).sum(0)]), "e"
        )
        mean = jnp.where(count > 0, mass / jnp.where(count > 0, count, 1), 0)
        return p.shape[1] * jnp.vdot(count / count.sum(), mean)

    return _on(p, who, real, mesh, of)


def balance_loss__over_own_tokens(p, who, real, mesh):
    def of(p, who, real):
        count, mass, tokens = lax.psum(_counted(p, who, real), "e")
        f = count / (who.shape[0] * who.shape[1])
        return p.shape[1] * jnp.vdot(f, mass / tokens)

    return _on(p, who, real, mesh, of)


def capacity_for__each_device(who, experts, devices, most):
    parts = who.reshape(devices, -1)
    lengths = np.stack([np.bincount(part, minlength=experts) for part in parts])
    each = who.size // devices
    places = 1
    while (np.maximum(lengths - places, 0).sum(axis=1) / each).max() > most:
        places += 1
    return places


def capacity_for__tokens_lost(who, experts, devices, most):
    tokens, k = who.shape
    place = np.zeros((tokens, k), dtype=int)
    per = tokens // devices
    for device in range(devices):
        filled = np.zeros(experts, dtype=int)
        for c in range(k):
            for t in range(device * per, (device + 1) * per):
                place[t, c] = filled[who[t, c]]
                filled[who[t, c]] += 1
    places = 1
    while (place >= places).all(axis=1).mean() > most:
        places += 1
    return places


def _lengths(who, experts, devices):
    parts = who.reshape(devices, -1)
    return np.stack([np.bincount(part, minlength=experts) for part in parts])


def capacity_for__share_of_queues(who, experts, devices, most):
    lengths = _lengths(who, experts, devices)
    places = 1
    while (lengths > places).mean() > most:
        places += 1
    return places


def capacity_for__columns_cut(who, experts, devices, most):
    parts = who.T.reshape(devices, -1)
    lengths = np.stack([np.bincount(part, minlength=experts) for part in parts])
    places = 1
    while np.maximum(lengths - places, 0).sum() / who.size > most:
        places += 1
    return places


def capacity_for__common_places(who, experts, devices, most):
    lengths = np.bincount(who.reshape(-1), minlength=experts)
    places = 1
    while np.maximum(lengths - devices * places, 0).sum() / who.size > most:
        places += 1
    return places


def _pieces(sent, bound):
    """begin[i][j], fits[i][j]"""
    n = len(sent)
    begin, fits = ([[0] * n for _ in sent] for _ in range(2))
    for j in range(n):
        lying = 0
        for i in range(n):
            begin[i][j] = lying
            fits[i][j] = min(sent[i][j], bound - lying)
            lying += fits[i][j]
    return begin, fits


def ragged_offsets__beyond_the_bound(sent, bound, me):
    _, fits = _pieces(sent, bound)
    before = [0] * len(sent)
    for row in sent[:me]:
        before = [a + b for a, b in zip(before, row, strict=True)]
    here = [sum(sent[me][:j]) for j in range(len(sent))]
    return here, fits[me], before, [row[me] for row in fits]


def ragged_offsets__of_the_whole_array(sent, bound, me):
    begin, fits = _pieces(sent, bound)
    at = sum(sum(sent[i]) for i in range(me))
    input_offsets = []
    for rows in sent[me]:
        input_offsets.append(at)
        at += rows
    return input_offsets, fits[me], begin[me], [row[me] for row in fits]


def ragged_offsets__not_to_itself(sent, bound, me):
    begin, fits = _pieces(sent, bound)
    input_offsets = [sum(sent[me][:j]) for j in range(len(sent))]
    send = [0 if j == me else rows for j, rows in enumerate(fits[me])]
    receive = [0 if i == me else row[me] for i, row in enumerate(fits)]
    return input_offsets, send, begin[me], receive


def ragged_offsets__slots_alike(sent, bound, me):
    n = len(sent)
    begin = [[0] * n for _ in range(n)]
    fits = [[0] * n for _ in range(n)]
    for j in range(n):
        lying = 0
        for i in range(n):
            begin[i][j] = lying
            fits[i][j] = min(sent[i][j], bound - lying)
            lying += fits[i][j]
    slot = max(max(row) for row in sent)
    input_offsets = [sum(sent[me][:j]) for j in range(n)]
    send_sizes = fits[me]
    output_offsets = [min(bound, me * slot) for _ in range(n)]
    recv_sizes = [fits[j][me] for j in range(n)]
    return input_offsets, send_sizes, output_offsets, recv_sizes
