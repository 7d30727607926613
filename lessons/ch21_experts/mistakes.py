"""Known wrong answers of ch21_experts, as code; words.toml explains them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax


def _places(e, experts):
    """Of a flat list of choices: how many of its expert stand before each."""
    order = jnp.argsort(e)
    first = jnp.searchsorted(e[order], jnp.arange(experts))
    place = jnp.arange(e.size) - first[e[order]]
    return jnp.zeros_like(e).at[order].set(place)


def _queue(who, experts):
    return _places(who.T.reshape(-1), experts).reshape(who.T.shape).T


def queue__token_by_token(who, experts):
    return _places(who.reshape(-1), experts).reshape(who.shape)


def queue__columns_apart(who, experts):
    columns = [_places(column, experts) for column in who.T]
    return jnp.stack(columns, axis=1)


def queue__from_one(who, experts):
    return _queue(who, experts) + 1


def queue__one_hot(who, experts):
    hot = jax.nn.one_hot(who.T.reshape(-1), experts, dtype=jnp.int32)
    before = jnp.sum((jnp.cumsum(hot, 0) - hot) * hot, -1)
    return before.reshape(who.T.shape).T


def queue__back_by_order(who, experts):
    e = who.T.reshape(-1)
    order = jnp.argsort(e)
    first = jnp.searchsorted(e[order], jnp.arange(experts))
    place = jnp.arange(e.size) - first[e[order]]
    return place[order].reshape(who.T.shape).T


def _there(box):
    return lax.all_to_all(box, "e", 0, 1, tiled=True)


def _back(done):
    return lax.all_to_all(done, "e", 1, 0, tiled=True)


def _by_gates(x, gate, answers, late):
    return x + jnp.sum(gate[..., None] * answers, axis=1)


def _moe(x, gate, who, w, capacity, mesh, **other):
    """other: what stands in place of queue, there, back, combine, of what
    has no place ("fill" or "clip")."""
    experts, _, d = w.shape
    line, there, back, combine, missing = (
        other.get(name, usual)
        for name, usual in (
            ("queue", _queue),
            ("there", _there),
            ("back", _back),
            ("combine", _by_gates),
            ("missing", "fill"),
        )
    )

    def on_each(x, gate, who, w):
        before = line(who, experts)
        late = before >= capacity
        slot = jnp.where(late, experts * capacity, who * capacity + before)
        box = jnp.zeros((experts * capacity, d))
        box = box.at[slot].set(x[:, None], mode="drop")
        sent = there(box.reshape(experts, capacity, d))
        done = jnp.einsum("end,edh->enh", sent, w)
        done = back(done).reshape(-1, d)
        answers = done.at[slot].get(mode=missing, fill_value=0)
        return combine(x, gate, answers, late)

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


def moe__no_gates(x, gate, who, w, capacity, mesh):
    def combine(x, gate, answers, late):
        return x + answers.sum(1)

    return _moe(x, gate, who, w, capacity, mesh, combine=combine)


def moe__normalised_again(x, gate, who, w, capacity, mesh):
    gate = gate / gate.sum(-1, keepdims=True)
    return _moe(x, gate, who, w, capacity, mesh)


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
    return _moe(x, gate, who, w, capacity, mesh, missing="clip")


def moe__token_by_token(x, gate, who, w, capacity, mesh):
    return _moe(x, gate, who, w, capacity, mesh, queue=queue__token_by_token)


def _parts(p, who):
    chosen = who[..., None] == jnp.arange(p.shape[1])
    return chosen.astype(p.dtype).mean((0, 1)), p.mean(0)


def _loss(p, who, mesh, of):
    return jax.shard_map(of, mesh=mesh, in_specs=P("e"), out_specs=P())(p, who)


def balance_loss__mean_of_losses(p, who, mesh):
    def of(p, who):
        f, mean = _parts(p, who)
        return lax.pmean(p.shape[1] * jnp.sum(f * mean), "e")

    return _loss(p, who, mesh, of)


def balance_loss__not_times_experts(p, who, mesh):
    def of(p, who):
        f, mean = lax.pmean(_parts(p, who), "e")
        return jnp.sum(f * mean)

    return _loss(p, who, mesh, of)


def balance_loss__summed(p, who, mesh):
    def of(p, who):
        f, mean = lax.psum(_parts(p, who), "e")
        return p.shape[1] * jnp.sum(f * mean)

    return _loss(p, who, mesh, of)


def balance_loss__per_token(p, who, mesh):
    def of(p, who):
        f, mean = lax.pmean(_parts(p, who), "e")
        return p.shape[1] * who.shape[1] * jnp.sum(f * mean)

    return _loss(p, who, mesh, of)


def balance_loss__gathered(p, who, mesh):
    def of(p, who):
        p, who = (lax.all_gather(a, "e", axis=0, tiled=True) for a in (p, who))
        f, mean = _parts(p, who)
        return p.shape[1] * jnp.sum(f * mean)

    return jax.shard_map(
        of, mesh=mesh, in_specs=P("e"), out_specs=P(), check_vma=False
    )(p, who)


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


def _offsets(sent, me):
    every = range(len(sent))
    send, receive = sent[me], [sent[i][me] for i in every]
    here = [sum(send[:j]) for j in every]
    there = [sum(sent[i][j] for i in range(me)) for j in every]
    return here, send, there, receive


def ragged_offsets__of_the_sender(sent, me):
    here, send, _, receive = _offsets(sent, me)
    return here, send, here, receive


def ragged_offsets__of_my_output(sent, me):
    here, send, _, receive = _offsets(sent, me)
    return here, send, [sum(receive[:j]) for j in range(len(sent))], receive


def ragged_offsets__ends(sent, me):
    here, send, there, receive = _offsets(sent, me)
    here = [a + b for a, b in zip(here, send, strict=True)]
    there = [a + b for a, b in zip(there, send, strict=True)]
    return here, send, there, receive


def ragged_offsets__transposed(sent, me):
    turned = [list(column) for column in zip(*sent, strict=True)]
    return _offsets(turned, me)


def ragged_offsets__sizes_exchanged(sent, me):
    here, send, there, receive = _offsets(sent, me)
    return here, receive, there, send
