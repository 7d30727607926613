"""Wrong answers of ch24_your_program that its mistakes.py does not know."""

import jax
import jax.numpy as jnp
from jax import P, lax


def budget__mean(bill):
    return sum(c["bytes"] * c["times"] for c in bill) // len(bill)


def budget__no_permutes(bill):
    from solutions.ch24_your_program import budget

    return budget([c for c in bill if c["op"] != "collective-permute"])


def budget__in_kilobytes(bill):
    from solutions.ch24_your_program import budget

    return budget(bill) // 1000


def first_bad__middle(bill, n):
    return n // 2


def first_bad__one_too_far(bill, n):
    from solutions.ch24_your_program import first_bad

    return first_bad(bill, n) + 1


def drifts__always(w, mesh):
    return jnp.array(True)


def drifts__sums_of_squares(w, mesh):
    def local(mine):
        own = jnp.sum(mine * mine)
        mean = lax.pmean(own, "data")
        return lax.pmax((own != mean).astype(jnp.int32), "data") > 0

    return jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=P())(w)


def drifts__turned(w, mesh):
    from solutions.ch24_your_program import drifts

    return ~drifts(w, mesh)


def apart_after_restart__at(start, step, save, load, batches, at):
    return at


def apart_after_restart__rough(start, step, save, load, batches, at):
    from solutions.ch24_your_program import apart_after_restart

    def near(state, batch):
        state, loss = step(state, batch)
        return state, round(loss, 1)

    return apart_after_restart(start, near, save, load, batches, at)


def changed__all(before, after, within):
    return {n: (before.get(n, 0), after.get(n, 0)) for n in before | after}


def changed__none(before, after, within):
    return {}


def changed__names(before, after, within):
    from solutions.ch24_your_program import changed

    return sorted(changed(before, after, within))


def changed__times(before, after, within):
    from solutions.ch24_your_program import changed

    found = changed(before, after, within)
    return {
        name: (now / was if was else 0) for name, (was, now) in found.items()
    }


def changed__common(before, after, within):
    from solutions.ch24_your_program import changed

    both = before.keys() & after.keys()
    return changed(
        {n: before[n] for n in both}, {n: after[n] for n in both}, within
    )
