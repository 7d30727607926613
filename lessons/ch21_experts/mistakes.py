"""Known wrong answers of ch21_experts, as code; words.toml explains them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax


def _line(e, order, experts):
    """In a flat list that is sorted by `order`: how many stand before each."""
    first = jnp.searchsorted(e[order], jnp.arange(experts))
    place = jnp.arange(e.size) - first[e[order]]
    return jnp.zeros_like(e).at[order].set(place)


def _order(e, g):
    largest = jnp.argsort(-g)
    return largest[jnp.argsort(e[largest])]


def _queue(who, gate, experts):
    e, g = who.T.reshape(-1), gate.T.reshape(-1)
    return _line(e, _order(e, g), experts).reshape(who.T.shape).T


def queue__by_column(who, gate, experts):
    e = who.T.reshape(-1)
    return _line(e, jnp.argsort(e), experts).reshape(who.T.shape).T


def queue__smallest_first(who, gate, experts):
    return _queue(who, -gate, experts)


def queue__equal_ones_turned(who, gate, experts):
    e, g = who.T.reshape(-1), gate.T.reshape(-1)
    largest = jnp.argsort(g)[::-1]
    order = largest[jnp.argsort(e[largest])]
    return _line(e, order, experts).reshape(who.T.shape).T


def queue__token_by_token(who, gate, experts):
    e, g = who.reshape(-1), gate.reshape(-1)
    return _line(e, _order(e, g), experts).reshape(who.shape)


def queue__by_expert_first(who, gate, experts):
    e, g = who.T.reshape(-1), gate.T.reshape(-1)
    order = jnp.argsort(e)
    order = order[jnp.argsort(-g[order])]
    first = jnp.searchsorted(jnp.sort(e), jnp.arange(experts))
    place = jnp.arange(e.size) - first[e[order]]
    return jnp.zeros_like(e).at[order].set(place).reshape(who.T.shape).T


def queue__columns_apart(who, gate, experts):
    columns = [
        _line(e, _order(e, g), experts)
        for e, g in zip(who.T, gate.T, strict=True)
    ]
    return jnp.stack(columns, axis=1)


def queue__from_one(who, gate, experts):
    return _queue(who, gate, experts) + 1


def queue__one_hot(who, gate, experts):
    e = who.T.reshape(-1)
    order = jnp.argsort(-gate.T.reshape(-1))
    hot = jax.nn.one_hot(e[order], experts, dtype=jnp.int32)
    before = jnp.sum((jnp.cumsum(hot, 0) - hot) * hot, -1)
    return jnp.zeros_like(e).at[order].set(before).reshape(who.T.shape).T


def queue__back_by_order(who, gate, experts):
    e, g = who.T.reshape(-1), gate.T.reshape(-1)
    order = _order(e, g)
    first = jnp.searchsorted(e[order], jnp.arange(experts))
    place = jnp.arange(e.size) - first[e[order]]
    return place[order].reshape(who.T.shape).T


def queue__only_chosen_experts(who, gate, experts):
    e, g = who.T.reshape(-1), gate.T.reshape(-1)
    order = _order(e, g)
    _, first = jnp.unique(e[order], return_index=True, size=experts)
    place = (jnp.arange(e.size) - first[e[order]]).astype(e.dtype)
    return jnp.zeros_like(e).at[order].set(place).reshape(who.T.shape).T


def queue__reshaped_at_once(who, gate, experts):
    return _queue(who, gate, experts).T.reshape(who.shape)


def _there(box):
    return lax.all_to_all(box, "e", 0, 1, tiled=True)


def _back(done):
    return lax.all_to_all(done, "e", 1, 0, tiled=True)


def _by_gates(x, gate, answers, late):
    return x + jnp.sum(gate[..., None] * answers, axis=1)


def _read(done, who, before, capacity):
    slot = who * capacity + before
    slot = jnp.where(before < capacity, slot, len(done))
    return done.at[slot].get(mode="fill", fill_value=0)


def _moe(x, gate, who, w, capacity, mesh, **other):
    """other: what stands in place of queue, slot, there, back, read,
    combine."""
    experts, _, d = w.shape

    def slot(who, before):
        own = who * capacity + before
        return jnp.where(before < capacity, own, experts * capacity)

    usual = {"queue": _queue, "slot": slot, "there": _there, "back": _back}
    usual |= {"read": _read, "combine": _by_gates}
    do = usual | other

    def on_each(x, gate, who, w):
        before = do["queue"](who, gate, experts)
        box = jnp.zeros((experts * capacity, d))
        box = box.at[do["slot"](who, before)].set(x[:, None], mode="drop")
        sent = do["there"](box.reshape(experts, capacity, d))
        done = jnp.einsum("end,edh->enh", sent, w)
        done = do["back"](done).reshape(-1, d)
        answers = do["read"](done, who, before, capacity)
        return do["combine"](x, gate, answers, before >= capacity)

    return jax.shard_map(on_each, mesh=mesh, in_specs=P("e"), out_specs=P("e"))(
        x, gate, who, w
    )


def moe__another_order(x, gate, who, w, capacity, mesh):
    def back(done):
        own, room, d = done.shape
        parts = done.reshape(own, mesh.size, room // mesh.size, d)
        parts = lax.all_to_all(parts, "e", 1, 1, tiled=True)
        return parts.reshape(own * mesh.size, -1, d)

    return _moe(x, gate, who, w, capacity, mesh, back=back)


def moe__by_sender(x, gate, who, w, capacity, mesh):
    def there(box):
        sent = lax.all_to_all(box, "e", 0, 0, tiled=True)
        return sent.reshape(len(box) // mesh.size, -1, box.shape[2])

    return _moe(x, gate, who, w, capacity, mesh, there=there)


def moe__by_sender_and_back(x, gate, who, w, capacity, mesh):
    def swapped(box):
        sent = lax.all_to_all(
            box.reshape(-1, capacity, box.shape[2]), "e", 0, 0, tiled=True
        )
        return sent.reshape(box.shape)

    def there(box):
        return swapped(box).reshape(len(box) // mesh.size, -1, box.shape[2])

    return _moe(x, gate, who, w, capacity, mesh, there=there, back=swapped)


def moe__no_gates(x, gate, who, w, capacity, mesh):
    def combine(x, gate, answers, late):
        return x + answers.sum(1)

    return _moe(x, gate, who, w, capacity, mesh, combine=combine)


def moe__normalised_again(x, gate, who, w, capacity, mesh):
    def combine(x, gate, answers, late):
        gate = gate / gate.sum(-1, keepdims=True)
        return _by_gates(x, gate, answers, late)

    return _moe(x, gate, who, w, capacity, mesh, combine=combine)


def moe__gate_passed_on(x, gate, who, w, capacity, mesh):
    def combine(x, gate, answers, late):
        kept = jnp.where(late, 0, gate)
        total = kept.sum(-1, keepdims=True)
        scale = gate.sum(-1, keepdims=True) / jnp.where(total > 0, total, 1)
        return _by_gates(x, kept * scale, answers, late)

    return _moe(x, gate, who, w, capacity, mesh, combine=combine)


def moe__whole_batch(x, gate, who, w, capacity, mesh):
    return _moe(x, gate, who, w, mesh.size * capacity, mesh)


def moe__no_residual(x, gate, who, w, capacity, mesh):
    def combine(x, gate, answers, late):
        return jnp.sum(gate[..., None] * answers, axis=1)

    return _moe(x, gate, who, w, capacity, mesh, combine=combine)


def moe__dropped_are_zeros(x, gate, who, w, capacity, mesh):
    def combine(x, gate, answers, late):
        y = x + jnp.sum(gate[..., None] * answers, axis=1)
        return jnp.where(late.all(1)[:, None], 0, y)

    return _moe(x, gate, who, w, capacity, mesh, combine=combine)


def moe__clipped(x, gate, who, w, capacity, mesh):
    def read(done, who, before, capacity):
        last = len(done) - 1
        return done[jnp.where(before < capacity, who * capacity + before, last)]

    return _moe(x, gate, who, w, capacity, mesh, read=read)


def moe__last_place(x, gate, who, w, capacity, mesh):
    def read(done, who, before, capacity):
        return done[who * capacity + jnp.minimum(before, capacity - 1)]

    return _moe(x, gate, who, w, capacity, mesh, read=read)


def moe__into_the_next(x, gate, who, w, capacity, mesh):
    def slot(who, before):
        return who * capacity + before

    def read(done, who, before, capacity):
        return done.at[slot(who, before)].get(mode="fill", fill_value=0)

    return _moe(x, gate, who, w, capacity, mesh, slot=slot, read=read)


def moe__by_column(x, gate, who, w, capacity, mesh):
    return _moe(x, gate, who, w, capacity, mesh, queue=queue__by_column)


def _sums(p, who, real):
    """Of one device: choices of each expert, sums of p, how many tokens."""
    chosen = (who[..., None] == jnp.arange(p.shape[1])) & real[:, None, None]
    return chosen.sum((0, 1)), jnp.where(real[:, None], p, 0).sum(0), real.sum()


def _loss(chosen, p, tokens, k):
    return len(p) * jnp.sum(chosen / (k * tokens) * p / tokens)


def _on_each(p, who, real, mesh, of):
    return jax.shard_map(of, mesh=mesh, in_specs=P("e"), out_specs=P())(
        p, who, real
    )


def balance_loss__mean_of_losses(p, who, real, mesh):
    def of(p, who, real):
        return lax.pmean(_loss(*_sums(p, who, real), who.shape[1]), "e")

    return _on_each(p, who, real, mesh, of)


def balance_loss__weighted_losses(p, who, real, mesh):
    def of(p, who, real):
        chosen, p, tokens = _sums(p, who, real)
        loss = _loss(chosen, p, jnp.maximum(tokens, 1), who.shape[1])
        total, tokens = lax.psum((loss * tokens, tokens), "e")
        return total / tokens

    return _on_each(p, who, real, mesh, of)


def balance_loss__mean_of_means(p, who, real, mesh):
    def of(p, who, real):
        chosen, p, tokens = _sums(p, who, real)
        chosen, p = lax.pmean((chosen / tokens, p / tokens), "e")
        return _loss(chosen, p, 1, who.shape[1])

    return _on_each(p, who, real, mesh, of)


def balance_loss__padding_counted(p, who, real, mesh):
    def of(p, who, real):
        chosen, p, _ = _sums(p, who, jnp.ones_like(real))
        chosen, p = lax.pmean((chosen / len(real), p / len(real)), "e")
        return _loss(chosen, p, 1, who.shape[1])

    return _on_each(p, who, real, mesh, of)


def balance_loss__padding_in_p(p, who, real, mesh):
    def of(p, who, real):
        chosen, _, tokens = lax.psum(_sums(p, who, real), "e")
        p = lax.pmean(p.mean(0), "e") * tokens
        return _loss(chosen, p, tokens, who.shape[1])

    return _on_each(p, who, real, mesh, of)


def balance_loss__over_all_tokens(p, who, real, mesh):
    def of(p, who, real):
        tokens = len(real) * mesh.size
        chosen, p, _ = lax.psum(_sums(p, who, real), "e")
        return _loss(chosen, p, tokens, who.shape[1])

    return _on_each(p, who, real, mesh, of)


def balance_loss__not_times_experts(p, who, real, mesh):
    def of(p, who, real):
        sums = lax.psum(_sums(p, who, real), "e")
        return _loss(*sums, who.shape[1]) / p.shape[1]

    return _on_each(p, who, real, mesh, of)


def balance_loss__per_token(p, who, real, mesh):
    def of(p, who, real):
        return _loss(*lax.psum(_sums(p, who, real), "e"), 1)

    return _on_each(p, who, real, mesh, of)


def balance_loss__first_choices(p, who, real, mesh):
    def of(p, who, real):
        return _loss(*lax.psum(_sums(p, who[:, :1], real), "e"), 1)

    return _on_each(p, who, real, mesh, of)


def balance_loss__gathered(p, who, real, mesh):
    def of(*given):
        given = (lax.all_gather(a, "e", axis=0, tiled=True) for a in given)
        return _loss(*_sums(*given), who.shape[1])

    return jax.shard_map(
        of, mesh=mesh, in_specs=P("e"), out_specs=P(), check_vma=False
    )(p, who, real)


def balance_loss__squared_p(p, who, real, mesh):
    def of(p, who, real):
        _, p, tokens = lax.psum(_sums(p, who, real), "e")
        return _loss(p, p, tokens, 1)

    return _on_each(p, who, real, mesh, of)


def balance_loss__p_of_choosers(p, who, real, mesh):
    def of(p, who, real):
        hot = (who[..., None] == jnp.arange(p.shape[1])).any(1) & real[:, None]
        chosen, p = lax.psum((hot.sum(0), (p * hot).sum(0)), "e")
        f = chosen / chosen.sum()
        return len(f) * jnp.sum(f * p / jnp.maximum(chosen, 1))

    return _on_each(p, who, real, mesh, of)


def balance_loss__over_own_tokens(p, who, real, mesh):
    def of(p, who, real):
        chosen, p, tokens = lax.psum(_sums(p, who, real), "e")
        return _loss(chosen / who.size, p / tokens, 1, 1)

    return _on_each(p, who, real, mesh, of)


def _smallest(queues, most, choices):
    capacity = 1
    while np.maximum(queues - capacity, 0).sum() > most * choices:
        capacity += 1
    return capacity


def _queues(who, experts, devices):
    return np.array(
        [
            np.bincount(mine.reshape(-1), minlength=experts)
            for mine in np.split(who, devices)
        ]
    )


def capacity_for__whole_batch(who, experts, devices, most):
    return _smallest(_queues(who, experts, 1), most, who.size)


def capacity_for__longest(who, experts, devices, most):
    return int(_queues(who, experts, devices).max())


def capacity_for__even_share(who, experts, devices, most):
    return max(1, -(-who.size // (devices * experts)))


def capacity_for__of_tokens(who, experts, devices, most):
    return _smallest(_queues(who, experts, devices), most, len(who))


def capacity_for__fewer_than(who, experts, devices, most):
    queues, capacity = _queues(who, experts, devices), 1
    while 0 < np.maximum(queues - capacity, 0).sum() >= most * who.size:
        capacity += 1
    return capacity


def capacity_for__each_device(who, experts, devices, most):
    queues = _queues(who, experts, devices)
    return max(_smallest(own, most, who.size / devices) for own in queues)


def capacity_for__tokens_lost(who, experts, devices, most):
    late = []
    for mine in np.split(who, devices):
        before, so_far = np.zeros(mine.shape, int), [0] * experts
        for c, t in np.ndindex(mine.T.shape):
            before[t, c] = so_far[mine[t, c]]
            so_far[mine[t, c]] += 1
        late.append(before.min(1))  # a token's best place
    late, capacity = np.concatenate(late), 1
    while (late >= capacity).mean() > most:
        capacity += 1
    return capacity


def capacity_for__share_of_queues(who, experts, devices, most):
    queues, capacity = _queues(who, experts, devices), 1
    while (queues > capacity).sum() > most * queues.size:
        capacity += 1
    return capacity


def capacity_for__columns_cut(who, experts, devices, most):
    queues = _queues(who.T.reshape(-1, 1), experts, devices)
    return _smallest(queues, most, who.size)


def capacity_for__common_places(who, experts, devices, most):
    queues, capacity = _queues(who, experts, 1), 1
    while np.maximum(queues - devices * capacity, 0).sum() > most * who.size:
        capacity += 1
    return capacity


def capacity_for__dealt_in_turn(who, experts, devices, most):
    own = [who[i::devices] for i in range(devices)]
    queues = _queues(np.concatenate(own), experts, devices)
    return _smallest(queues, most, who.size)


def _offsets(sent, bound, me, begin=None):
    every = range(len(sent))

    def usual(i, j):
        return min(bound, sum(sent[other][j] for other in range(i)))

    begin = begin or usual
    here = [sum(sent[me][:j]) for j in every]
    send = [begin(me + 1, j) - begin(me, j) for j in every]
    there = [begin(me, j) for j in every]
    receive = [begin(j + 1, me) - begin(j, me) for j in every]
    return here, send, there, receive


def ragged_offsets__bound_forgotten(sent, bound, me):
    return _offsets(sent, sum(map(sum, sent)), me)


def ragged_offsets__beyond_the_bound(sent, bound, me):
    here, send, _, receive = _offsets(sent, bound, me)
    return here, send, _offsets(sent, sum(map(sum, sent)), me)[2], receive


def ragged_offsets__bound_of_each_sender(sent, bound, me):
    less = [[min(bound, rows) for rows in row] for row in sent]
    _, send, there, receive = _offsets(less, sum(map(sum, less)), me)
    return _offsets(sent, bound, me)[0], send, there, receive


def ragged_offsets__only_what_is_sent(sent, bound, me):
    _, send, there, receive = _offsets(sent, bound, me)
    return [sum(send[:j]) for j in range(len(sent))], send, there, receive


def ragged_offsets__received_in_full(sent, bound, me):
    here, send, there, _ = _offsets(sent, bound, me)
    return here, send, there, [row[me] for row in sent]


def ragged_offsets__of_the_sender(sent, bound, me):
    here, send, _, receive = _offsets(sent, bound, me)
    return here, send, here, receive


def ragged_offsets__of_my_output(sent, bound, me):
    here, send, _, receive = _offsets(sent, bound, me)
    return here, send, [sum(receive[:j]) for j in range(len(sent))], receive


def ragged_offsets__ends(sent, bound, me):
    here, send, there, receive = _offsets(sent, bound, me)
    here = [a + b for a, b in zip(here, sent[me], strict=True)]
    there = [a + b for a, b in zip(there, send, strict=True)]
    return here, send, there, receive


def ragged_offsets__transposed(sent, bound, me):
    turned = [list(column) for column in zip(*sent, strict=True)]
    return _offsets(turned, bound, me)


def ragged_offsets__sizes_exchanged(sent, bound, me):
    here, send, there, receive = _offsets(sent, bound, me)
    return here, receive, there, send


def ragged_offsets__of_the_whole_array(sent, bound, me):
    here, send, there, receive = _offsets(sent, bound, me)
    before = sum(map(sum, sent[:me]))
    return [before + at for at in here], send, there, receive


def ragged_offsets__not_to_itself(sent, bound, me):
    here, send, there, receive = _offsets(sent, bound, me)
    send[me] = receive[me] = 0
    return here, send, there, receive


def ragged_offsets__slots_alike(sent, bound, me):
    here, send, there, receive = _offsets(sent, bound, me)
    slot = max(map(max, sent))
    return here, send, [min(bound, me * slot) for _ in there], receive


def ragged_offsets__of_all_outputs(sent, bound, me):
    here, send, there, receive = _offsets(sent, bound, me)
    full = [min(bound, sum(column)) for column in zip(*sent, strict=True)]
    there = [sum(full[:j]) + at for j, at in enumerate(there)]
    return here, send, there, receive
