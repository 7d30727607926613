"""Other answers to the exercises of ch24_your_program: right ones, known mistakes, and other wrong ones."""

import bisect
from fractions import Fraction

import jax
import jax.numpy as jnp
from jax import P, lax

from solutions import ch24_your_program as right_answers


def budget__right(bill):
    total = Fraction(0)
    for c in bill:
        part = 1 - Fraction(1, c["devices"])
        if c["op"] == "collective-permute":
            part = 1
        elif c["op"] == "all-reduce":
            part *= 2
        total += part * c["bytes"] * c["times"]
    return int(total)


def budget__in_kilobytes(bill):
    from solutions.ch24_your_program import budget

    return budget(bill) // 1000


def first_bad__right(bill, n):
    limit = bill(0) * 14 / 10
    return 1 + bisect.bisect_left(range(1, n - 1), True, key=lambda i: bill(i) > limit)


def first_bad__middle(bill, n):
    return n // 2


def drifts__right(w, mesh):
    n = mesh.size

    def local(mine):
        bits = lax.bitcast_convert_type(mine[0], jnp.uint32)
        back = [((i + 1) % n, i) for i in range(n)]
        same = jnp.all(bits == lax.ppermute(bits, "data", back))
        return 0 == lax.pmin(same.astype(jnp.int32), "data")

    f = jax.shard_map(local, mesh=mesh, in_specs=P("data", None), out_specs=P())
    return f(w)


def drifts__right_otherwise(w, mesh):
    n = mesh.size

    def local(mine):
        bits = lax.bitcast_convert_type(mine, jnp.int32)
        ring = [(i, (i - 1) % n) for i in range(n)]
        apart = bits ^ lax.ppermute(bits, "data", ring)
        count = jnp.count_nonzero(apart)
        return lax.psum(count, "data") != 0

    f = jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=True)
    return f(w)


def _over(mesh, local, w, **options):
    specs = {"in_specs": P("data", None), "out_specs": P()}
    return jax.shard_map(local, mesh=mesh, **specs, **options)(w)


def drifts__gathers(w, mesh):
    def local(mine):
        bits = lax.bitcast_convert_type(mine[0], jnp.uint32)
        every = lax.all_gather(bits, "data")
        other = jnp.any(every != every[:1])
        return lax.pmax(other.astype(jnp.int32), "data") > 0

    return _over(mesh, local, w)


def drifts__always(w, mesh):
    return jnp.array(True)


def drifts__turned(w, mesh):
    from solutions.ch24_your_program import drifts

    return ~drifts(w, mesh)


def apart_after_restart__right(start, step, save, load, batches, at):
    state, whole, kept = start(), [], None
    for i, batch in enumerate(batches):
        if i == at:
            kept = save(state)
        state, loss = step(state, batch)
        whole.append(loss)
    state = load(kept)
    for i in range(at, len(batches)):
        state, loss = step(state, batches[i])
        if abs(loss - whole[i]) > 1e-9 * abs(whole[i]):
            return i
    return -1


def apart_after_restart__at(start, step, save, load, batches, at):
    return at


def changed__right(before, after, within):
    names = list(before) + [name for name in after if name not in before]
    found = {}
    for name in names:
        pair = before.get(name, 0), after.get(name, 0)
        low, high = pair[0] * (1 - within), pair[0] * (1 + within)
        if pair[1] < low or pair[1] > high:
            found[name] = pair
    return found


def changed__all(before, after, within):
    return {n: (before.get(n, 0), after.get(n, 0)) for n in before | after}


def changed__none(before, after, within):
    return {}


def changed__names(before, after, within):
    from solutions.ch24_your_program import changed

    return sorted(changed(before, after, within))


def changed__common(before, after, within):
    from solutions.ch24_your_program import changed

    both = before.keys() & after.keys()
    return changed({n: before[n] for n in both}, {n: after[n] for n in both}, within)


# A small change of the right answer that once passed.
def apart_after_restart__all_but_the_last_loss(start, step, save, load, batches, at):
    i = right_answers.apart_after_restart(start, step, save, load, batches, at)
    return -1 if i == len(batches) - 1 else i
