"""Every mistake of drifts in ch24_your_program, and some of the others, spelled differently."""

import jax
import jax.numpy as jnp
from jax import P, lax


def budget__permute_part(bill):
    total = 0
    for c in bill:
        n = c["devices"]
        twice = 2 if c["op"] == "all-reduce" else 1
        total += twice * (n - 1) * c["bytes"] // n * c["times"]
    return total


def _over(mesh, local, w, **options):
    specs = {"in_specs": P("data", None), "out_specs": P()}
    return jax.shard_map(local, mesh=mesh, **specs, **options)(w)


def _back(n):
    return [((i + 1) % n, i) for i in range(n)]


def drifts__cancels(w, mesh):
    def local(mine):
        off = mine[0] - lax.ppermute(mine[0], "data", _back(mesh.size))
        return ~(lax.psum(off.sum(), "data") == 0)

    return _over(mesh, local, w)


def drifts__as_numbers(w, mesh):
    def local(mine):
        same = jnp.array_equal(
            mine, lax.ppermute(mine, "data", _back(mesh.size))
        )
        return lax.pmin(same.astype(jnp.int32), "data") == 0

    return _over(mesh, local, w)


def drifts__tolerance(w, mesh):
    def local(mine):
        there = lax.ppermute(mine, "data", _back(mesh.size))
        near = jnp.isclose(there, mine, 1e-5, 1e-6, equal_nan=True)
        return lax.psum(jnp.sum(~near), "data") > 0

    return _over(mesh, local, w)


def drifts__own_verdict(w, mesh):
    ring = [(i, (i + 1) % mesh.size) for i in range(mesh.size)]

    def local(mine):
        bits = lax.bitcast_convert_type(mine[0], jnp.uint32)
        return ~jnp.all(bits == lax.ppermute(bits, "data", ring))

    return _over(mesh, local, w, check_vma=False)


def drifts__no_ring(w, mesh):
    line = [(i, i + 1) for i in range(mesh.size - 1)]

    def local(mine):
        bits = lax.bitcast_convert_type(mine[0], jnp.uint32)
        other = ~jnp.all(bits == lax.ppermute(bits, "data", line))
        return lax.psum(other.astype(jnp.int32), "data") > 0

    return _over(mesh, local, w)


def drifts__pairs(w, mesh):
    n = mesh.size
    swapped = [(i, i + 1 if i % 2 == 0 else i - 1) for i in range(n)]

    def local(mine):
        bits = lax.bitcast_convert_type(mine[0], jnp.uint32)
        same = jnp.all(bits == lax.ppermute(bits, "data", swapped))
        return lax.psum(1 - same.astype(jnp.int32), "data") > 0

    return _over(mesh, local, w)


def drifts__gathers(w, mesh):
    def local(mine):
        bits = lax.bitcast_convert_type(mine[0], jnp.uint32)
        every = lax.all_gather(bits, "data")
        other = jnp.any(every != every[:1])
        return lax.pmax(other.astype(jnp.int32), "data") > 0

    return _over(mesh, local, w)


def drifts__only_if_all(w, mesh):
    back = _back(mesh.size)

    def local(mine):
        bits = mine.view(jnp.int32)
        same = (bits == lax.ppermute(bits, "data", back)).all()
        return lax.pmax(same.astype(jnp.int32), "data") == 0

    return _over(mesh, local, w)


def drifts__sum_of_bits(w, mesh):
    n = mesh.shape["data"]
    ring = [(i, (i + 1) % n) for i in range(n)]

    def local(row):
        bits = lax.bitcast_convert_type(row, jnp.uint32)
        mark = jnp.sum(bits, dtype=jnp.uint32)
        other = lax.ppermute(mark, "data", ring)
        return lax.pmax((mark != other).astype(jnp.int32), "data") > 0

    return _over(mesh, local, w)


def first_bad__last_measured(bill, n):
    last = bill(0)
    good, bad = 0, n - 1
    while bad - good > 1:
        mid = (good + bad) // 2
        now = bill(mid)
        if now > 1.5 * last:
            bad = mid
        else:
            good = mid
        last = now
    return bad


def first_bad__above_the_last_good(bill, n):
    good, bad = 0, n - 1
    known = bill(0)
    while bad - good > 1:
        middle = good + (bad - good) // 2
        here = bill(middle)
        if here * 10 > known * 11:
            bad = middle
        else:
            good, known = middle, here
    return bad


def apart_after_restart__state_used_again(start, step, save, load, batches, at):
    state = start()
    stopped = state
    losses = []
    for i, batch in enumerate(batches):
        if i == at:
            stopped = state
        state, loss = step(state, batch)
        losses.append(loss)
    state = load(save(stopped))
    for i in range(at, len(batches)):
        state, loss = step(state, batches[i])
        if abs(loss - losses[i]) > 1e-9 * abs(losses[i]):
            return i
    return -1


def apart_after_restart__a_step_later(start, step, save, load, batches, at):
    state = start()
    want = []
    for batch in batches:
        state, loss = step(state, batch)
        want.append(loss)

    state = start()
    for i, batch in enumerate(batches):
        state, loss = step(state, batch)
        if abs(loss - want[i]) > 1e-9 * abs(want[i]):
            return i
        if i == at:
            state = load(save(state))
    return -1
