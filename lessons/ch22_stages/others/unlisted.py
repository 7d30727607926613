"""Wrong answers of ch22_stages that its mistakes.py does not know."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from lessons.ch22_stages import mistakes


def one_f_one_b__as_one_text(stages, microbatches):
    from solutions.ch22_stages import one_f_one_b

    return [" ".join(row) for row in one_f_one_b(stages, microbatches)]


def one_f_one_b__an_empty_tick(stages, microbatches):
    from solutions.ch22_stages import one_f_one_b

    return [*one_f_one_b(stages, microbatches), [""] * stages]


def one_f_one_b__from_one(stages, microbatches):
    from solutions.ch22_stages import one_f_one_b

    return [
        [what and what[0] + str(int(what[1:]) + 1) for what in row]
        for row in one_f_one_b(stages, microbatches)
    ]


def slots__from_one(rows):
    from solutions.ch22_stages import slots

    return [[i + 1 for i in of] for of in slots(rows)]


def slots__highest(rows):
    def highest(m, taken, slot):
        free = set(range(len(slot) and max(slot.values()) + 1)) - taken
        return max(free) if free else len(taken)

    return mistakes._slots(rows, highest)


def slots__of_the_first_stage(rows):
    from solutions.ch22_stages import slots

    return [slots(rows)[0]] * len(rows[0])


def one_step__uphill(orders, w, x, y, rate):
    return mistakes._one_step(orders, w, x, y, -rate)


def one_step__gradients(orders, w, x, y, rate):
    new, most = mistakes._one_step(orders, w, x, y, 1.0)
    return [a - b for a, b in zip(w, new, strict=True)], most


def pipelined__first_microbatch(w, head, x, y, mesh):
    return mistakes._pipelined(w, head, x, y, mesh, fed=lambda t: 0)


def pipelined__loss_in_one_place(w, head, x, y, mesh):
    value, dw, dhead = mistakes._pipelined(w, head, x, y, mesh)
    return dw, dhead, value


def pipelined__gradient_of_w_averaged(w, head, x, y, mesh):
    value, dw, dhead = mistakes._pipelined(w, head, x, y, mesh)
    return value, jax.tree.map(lambda a: a / mesh.size, dw), dhead


def pipelined__every_where(w, head, x, y, mesh):
    value, dw, dhead = mistakes._pipelined(w, head, x, y, mesh)
    whole = jax.NamedSharding(mesh, P())
    return value, lax.with_sharding_constraint(dw, whole), dhead


def shared_gradient__gathered(g, mesh):
    total = g[0] + g[-1]
    out = jnp.zeros_like(g).at[0].set(total).at[-1].set(total)
    return lax.with_sharding_constraint(
        out, jax.NamedSharding(mesh, P("stage"))
    )


def shared_gradient__from_the_neighbour(g, mesh):
    n = mesh.size

    def of(g):
        s = lax.axis_index("stage")
        other = lax.ppermute(g, "stage", [(i, (i + 1) % n) for i in range(n)])
        return jnp.where((s == 0) | (s == n - 1), g + other, 0)

    return mistakes._shared(g, mesh, of)


def bytes_across__a_microbatch_less(hosts, chunks, microbatches, message):
    from solutions.ch22_stages import bytes_across

    return bytes_across(hosts, chunks, microbatches - 1, message)


def bytes_across__inside_too(hosts, chunks, microbatches, message):
    places, count = hosts * chunks, max(hosts) + 1
    sent = [[0] * count for _ in range(count)]
    for a, b in zip(places, places[1:], strict=False):
        sent[a][b] += microbatches * message
        sent[b][a] += microbatches * message
    return sent


def bytes_across__kilobytes(hosts, chunks, microbatches, message):
    from solutions.ch22_stages import bytes_across

    return bytes_across(hosts, chunks, microbatches, message // 1024)


def bytes_across__sums(hosts, chunks, microbatches, message):
    from solutions.ch22_stages import bytes_across

    return [
        sum(row) for row in bytes_across(hosts, chunks, microbatches, message)
    ]
