"""Wrong answers of ch21_experts that its mistakes.py does not know."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from lessons.ch21_experts import mistakes


def queue__from_behind(who, experts):
    from solutions.ch21_experts import queue

    return queue(who[::-1], experts)[::-1]


def queue__as_floats(who, experts):
    from solutions.ch21_experts import queue

    return queue(who, experts).astype(float)


def moe__gates_exchanged(x, gate, who, w, capacity, mesh):
    return mistakes._moe(x, gate[:, ::-1], who, w, capacity, mesh)


def moe__everywhere(x, gate, who, w, capacity, mesh):
    """Every device ends with all tokens."""
    y = mistakes._moe(x, gate, who, w, capacity, mesh)
    return lax.with_sharding_constraint(y, jax.NamedSharding(mesh, P()))


def moe__one_place_fewer(x, gate, who, w, capacity, mesh):
    return mistakes._moe(x, gate, who, w, capacity - 1, mesh)


def moe__residual_twice(x, gate, who, w, capacity, mesh):
    return x + mistakes._moe(x, gate, who, w, capacity, mesh)


def balance_loss__twice(p, who, mesh):
    from solutions.ch21_experts import balance_loss

    return 2 * balance_loss(p, who, mesh)


def balance_loss__first_choice(p, who, mesh):
    def of(p, who):
        who = jnp.argmin(p, 1)[:, None]
        f, mean = lax.pmean(mistakes._parts(p, who), "e")
        return p.shape[1] * jnp.sum(f * mean)

    return mistakes._loss(p, who, mesh, of)


def capacity_for__one_more(who, experts, devices, most):
    from solutions.ch21_experts import capacity_for

    return capacity_for(who, experts, devices, most) + 1


def capacity_for__of_all_devices(who, experts, devices, most):
    from solutions.ch21_experts import capacity_for

    return devices * capacity_for(who, experts, devices, most)


def ragged_offsets__of_the_next(sent, me):
    from solutions.ch21_experts import ragged_offsets

    return ragged_offsets(sent, (me + 1) % len(sent))
