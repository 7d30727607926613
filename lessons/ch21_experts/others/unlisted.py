"""Wrong answers of ch21_experts that its mistakes.py does not know."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from lessons.ch21_experts import mistakes


def queue__from_behind(who, gate, experts):
    from solutions.ch21_experts import queue

    return queue(who[::-1], gate[::-1], experts)[::-1]


def queue__as_floats(who, gate, experts):
    from solutions.ch21_experts import queue

    return queue(who, gate, experts).astype(float)


def queue__of_all_experts(who, gate, experts):
    """The rank of each gate among all choices."""
    rank = jnp.argsort(jnp.argsort(-gate.T.ravel()))
    return rank.astype(jnp.int32).reshape(who.T.shape).T


def moe__gates_exchanged(x, gate, who, w, capacity, mesh):
    def combine(x, gate, answers, late):
        return x + jnp.sum(gate[:, ::-1, None] * answers, axis=1)

    return mistakes._moe(x, gate, who, w, capacity, mesh, combine=combine)


def moe__everywhere(x, gate, who, w, capacity, mesh):
    """Every device ends with all tokens."""
    y = mistakes._moe(x, gate, who, w, capacity, mesh)
    return lax.with_sharding_constraint(y, jax.NamedSharding(mesh, P()))


def moe__one_place_fewer(x, gate, who, w, capacity, mesh):
    return mistakes._moe(x, gate, who, w, capacity - 1, mesh)


def moe__residual_twice(x, gate, who, w, capacity, mesh):
    return x + mistakes._moe(x, gate, who, w, capacity, mesh)


def moe__equal_ones_turned(x, gate, who, w, capacity, mesh):
    queue = mistakes.queue__equal_ones_turned
    return mistakes._moe(x, gate, who, w, capacity, mesh, queue=queue)


def balance_loss__twice(p, who, real, mesh):
    from solutions.ch21_experts import balance_loss

    return 2 * balance_loss(p, who, real, mesh)


def balance_loss__least_liked(p, who, real, mesh):
    def of(p, who, real):
        who = jnp.argmin(p, 1)[:, None]
        sums = lax.psum(mistakes._sums(p, who, real), "e")
        return mistakes._loss(*sums, 1)

    return mistakes._on_each(p, who, real, mesh, of)


def balance_loss__of_the_padding(p, who, real, mesh):
    from solutions.ch21_experts import balance_loss

    return balance_loss(p, who, ~real, mesh)


def capacity_for__one_more(who, experts, devices, most):
    from solutions.ch21_experts import capacity_for

    return capacity_for(who, experts, devices, most) + 1


def capacity_for__of_all_devices(who, experts, devices, most):
    from solutions.ch21_experts import capacity_for

    return devices * capacity_for(who, experts, devices, most)


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
