"""Wrong answers of ch21_experts that its mistakes.py does not know."""

import jax.numpy as jnp
import numpy as np

from lessons.ch21_experts import mistakes


def queue__from_behind(who, experts):
    from solutions.ch21_experts import queue

    return queue(who[::-1], experts)[::-1]


def queue__rank_of_all(who, experts):
    e = who.T.reshape(-1)
    return jnp.argsort(jnp.argsort(e)).reshape(who.T.shape).T


def moe__gates_exchanged(x, gate, who, w, capacity, mesh):
    return mistakes._moe(x, gate[:, ::-1], who, w, capacity, mesh)


def moe__first_choice_only(x, gate, who, w, capacity, mesh):
    gate = gate * jnp.array([1.0, 0.0])
    return mistakes._moe(x, gate, who, w, capacity, mesh)


def moe__one_place_fewer(x, gate, who, w, capacity, mesh):
    return mistakes._moe(x, gate, who, w, capacity - 1, mesh)


def moe__residual_twice(x, gate, who, w, capacity, mesh):
    return x + mistakes._moe(x, gate, who, w, capacity, mesh)


def balance_loss__squares(p, who, mesh):
    from jax import lax

    def of(p, who):
        mean = lax.pmean(p.mean(0), "e")
        return p.shape[1] * jnp.sum(mean * mean)

    return mistakes._loss(p, who, mesh, of)


def balance_loss__first_choice(p, who, mesh):
    from jax import lax

    def of(p, who):
        who = jnp.argmin(p, 1)[:, None]
        f, mean = lax.pmean(mistakes._parts(p, who), "e")
        return p.shape[1] * jnp.sum(f * mean)

    return mistakes._loss(p, who, mesh, of)


def capacity_for__one_more(who, experts, devices, most):
    from solutions.ch21_experts import capacity_for

    return capacity_for(who, experts, devices, most) + 1


def capacity_for__mean_queue(who, experts, devices, most):
    return int(np.mean(mistakes._queues(who, experts, devices))) + 2


def ragged_offsets__of_the_next(sent, me):
    from solutions.ch21_experts import ragged_offsets

    return ragged_offsets(sent, (me + 1) % len(sent))
