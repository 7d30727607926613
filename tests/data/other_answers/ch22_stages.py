"""Other answers to the exercises of ch22_stages: right ones, known mistakes, and other wrong ones."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from lessons.ch22_stages import mistakes
from solutions import ch22_stages as right_answers


def one_f_one_b__an_empty_tick(stages, microbatches):
    return [*right_answers.one_f_one_b(stages, microbatches), [""] * stages]


def slots__highest(rows):
    def highest(m, taken, slot):
        free = set(range(len(slot) and max(slot.values()) + 1)) - taken
        return max(free) if free else len(taken)

    return mistakes._slots(rows, highest)


def slots__of_the_first_stage(rows):
    return [right_answers.slots(rows)[0]] * len(rows[0])


def pipelined__every_where(w, head, x, y, mesh):
    value, dw, dhead = mistakes._pipelined(w, head, x, y, mesh)
    whole = jax.NamedSharding(mesh, P())
    return value, lax.with_sharding_constraint(dw, whole), dhead


def shared_gradient__right(g, mesh):
    n = mesh.shape["stage"]

    def device(g):
        s = lax.axis_index("stage")
        there = lax.ppermute(g, "stage", [(n - 1, 0), (0, n - 1)])
        return lax.cond((s > 0) & (s < n - 1), lambda: jnp.zeros_like(g), lambda: g + there)

    spec = P("stage", None, None)
    return jax.jit(jax.shard_map(device, mesh=mesh, in_specs=spec, out_specs=spec))(g)


def shared_gradient__right_otherwise(g, mesh):
    last = mesh.size - 1

    def device(g):
        s = lax.axis_index("stage")
        mine = jnp.where((s == 0) | (s == last), g, 0)
        there = lax.ppermute(g, "stage", [(0, last)])
        return mine + there + lax.ppermute(g, "stage", [(last, 0)])

    return jax.shard_map(device, mesh=mesh, in_specs=P("stage"), out_specs=P("stage"))(g)


def bytes_across__inside_too(hosts, chunks, microbatches, message):
    places, count = hosts * chunks, max(hosts) + 1
    sent = [[0] * count for _ in range(count)]
    for a, b in zip(places, places[1:], strict=False):
        sent[a][b] += microbatches * message
        sent[b][a] += microbatches * message
    return sent
