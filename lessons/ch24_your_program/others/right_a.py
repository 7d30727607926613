"""The exercises of ch24_your_program right in another way."""

import bisect
from fractions import Fraction

import jax
import jax.numpy as jnp
from jax import P, lax


def budget(bill):
    total = Fraction(0)
    for c in bill:
        part = 1 - Fraction(1, c["devices"])
        if c["op"] == "collective-permute":
            part = 1
        elif c["op"] == "all-reduce":
            part *= 2
        total += part * c["bytes"] * c["times"]
    return int(total)


def first_bad(bill, n):
    limit = bill(0) * 14 / 10
    return 1 + bisect.bisect_left(
        range(1, n - 1), True, key=lambda i: bill(i) > limit
    )


def drifts(w, mesh):
    n = mesh.size

    def local(mine):
        bits = lax.bitcast_convert_type(mine[0], jnp.uint32)
        back = [((i + 1) % n, i) for i in range(n)]
        same = jnp.all(bits == lax.ppermute(bits, "data", back))
        return 0 == lax.pmin(same.astype(jnp.int32), "data")

    f = jax.shard_map(local, mesh=mesh, in_specs=P("data", None), out_specs=P())
    return f(w)


def apart_after_restart(start, step, save, load, batches, at):
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


def changed(before, after, within):
    names = list(before) + [name for name in after if name not in before]
    found = {}
    for name in names:
        pair = before.get(name, 0), after.get(name, 0)
        low, high = pair[0] * (1 - within), pair[0] * (1 + within)
        if pair[1] < low or pair[1] > high:
            found[name] = pair
    return found
