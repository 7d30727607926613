"""Known wrong answers of ch24_your_program; words.toml explains them."""

import jax
import jax.numpy as jnp
from jax import P, lax


def _sent(c, around=2):
    n = c["devices"]
    steps = {"all-reduce": around * (n - 1), "collective-permute": n}
    return steps.get(c["op"], n - 1) * c["bytes"] // n


def budget__array_bytes(bill):
    return sum(c["bytes"] * c["times"] for c in bill)


def budget__all_devices(bill):
    return sum(_sent(c) * c["times"] * c["devices"] for c in bill)


def budget__loop_once(bill):
    return sum(_sent(c) for c in bill)


def budget__one_way(bill):
    return sum(_sent(c, around=1) * c["times"] for c in bill)


def budget__gather_of_pieces(bill):
    def sent(c):
        return _sent(c) * (c["devices"] if c["op"] == "all-gather" else 1)

    return sum(sent(c) * c["times"] for c in bill)


def budget__permute_part(bill):
    def sent(c):
        return _sent({**c, "op": c["op"].removeprefix("collective-")})

    return sum(sent(c) * c["times"] for c in bill)


def budget__doubled(bill):
    return 2 * sum(_sent(c) * c["times"] for c in bill)


def budget__largest(bill):
    return max(_sent(c) * c["times"] for c in bill)


def first_bad__one_by_one(bill, n):
    limit = 1.5 * bill(0)
    return next(i for i in range(1, n) if bill(i) > limit)


def _bisected(bill, n, is_bad):
    good, bad = 0, n - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if is_bad(bill(middle)):
            bad = middle
        else:
            good = middle
    return good, bad


def first_bad__last_good(bill, n):
    limit = 1.5 * bill(0)
    return _bisected(bill, n, lambda b: b > limit)[0]


def first_bad__any_change(bill, n):
    first = bill(0)
    return _bisected(bill, n, lambda b: b != first)[1]


def first_bad__exactly_twice(bill, n):
    first = bill(0)
    return _bisected(bill, n, lambda b: b == 2 * first)[1]


def first_bad__at_least_twice(bill, n):
    first = bill(0)
    return _bisected(bill, n, lambda b: b >= 2 * first)[1]


def first_bad__beside_each_other(bill, n):
    good, bad = 0, n - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if bill(middle) > 1.5 * bill(middle - 1):
            bad = middle
        else:
            good = middle
    return bad


def first_bad__last_measured(bill, n):
    good, bad, last = 0, n - 1, bill(0)
    while bad - good > 1:
        middle = (good + bad) // 2
        last, before = bill(middle), last
        if last > 1.5 * before:
            bad = middle
        else:
            good = middle
    return bad


def first_bad__above_the_last_good(bill, n):
    good, bad, last = 0, n - 1, bill(0)
    while bad - good > 1:
        middle = (good + bad) // 2
        now = bill(middle)
        if now > 1.1 * last:
            bad = middle
        else:
            good, last = middle, now
    return bad


def first_bad__any_more(bill, n):
    first = bill(0)
    return _bisected(bill, n, lambda b: b > first)[1]


def _ring(n):
    return [(i, (i + 1) % n) for i in range(n)]


def _drifts(w, mesh, other, told=None, **options):
    def local(mine):
        found = other(mine).astype(jnp.int32)
        return (told or (lambda x: lax.pmax(x, "data")))(found) > 0

    f = jax.shard_map(
        local, mesh=mesh, in_specs=P("data"), out_specs=P(), **options
    )
    return f(w)


def _bits(x):
    return lax.bitcast_convert_type(x, jnp.int32)


def drifts__cancels(w, mesh):
    def local(mine):
        there = lax.ppermute(mine, "data", _ring(mesh.size))
        return lax.psum(jnp.sum(mine - there), "data") != 0

    return jax.shard_map(local, mesh=mesh, in_specs=P("data"), out_specs=P())(w)


def drifts__as_numbers(w, mesh):
    ring = _ring(mesh.size)
    return _drifts(
        w, mesh, lambda x: jnp.any(x != lax.ppermute(x, "data", ring))
    )


def drifts__tolerance(w, mesh):
    ring = _ring(mesh.size)

    def other(x):
        there = lax.ppermute(x, "data", ring)
        return ~jnp.allclose(x, there, rtol=1e-5, atol=1e-6, equal_nan=True)

    return _drifts(w, mesh, other)


def drifts__own_verdict(w, mesh):
    ring = _ring(mesh.size)

    def other(x):
        return jnp.any(_bits(x) != lax.ppermute(_bits(x), "data", ring))

    return _drifts(w, mesh, other, told=lambda x: x, check_vma=False)


def drifts__no_ring(w, mesh):
    line = _ring(mesh.size)[:-1]

    def other(x):
        return jnp.any(_bits(x) != lax.ppermute(_bits(x), "data", line))

    return _drifts(w, mesh, other)


def drifts__pairs(w, mesh):
    partners = [(i, i ^ 1) for i in range(mesh.size)]

    def other(x):
        return jnp.any(_bits(x) != lax.ppermute(_bits(x), "data", partners))

    return _drifts(w, mesh, other)


def drifts__gathers(w, mesh):
    def other(x):
        all_of_them = lax.all_gather(_bits(x), "data", tiled=True)
        return jnp.any(all_of_them != _bits(x))

    return _drifts(w, mesh, other)


def drifts__only_if_all(w, mesh):
    ring = _ring(mesh.size)

    def other(x):
        return jnp.any(_bits(x) != lax.ppermute(_bits(x), "data", ring))

    return _drifts(w, mesh, other, told=lambda x: lax.pmin(x, "data"))


def drifts__sum_of_bits(w, mesh):
    ring = _ring(mesh.size)

    def other(x):
        total = jnp.sum(_bits(x))
        return total != lax.ppermute(total, "data", ring)

    return _drifts(w, mesh, other)


def _losses(step, state, batches):
    found = []
    for batch in batches:
        state, loss = step(state, batch)
        found.append(loss)
    return state, found


def _first(rest, whole, at=0, scale=abs):
    for i, (a, b) in enumerate(zip(rest, whole, strict=False)):
        if abs(a - b) > 1e-9 * scale(b):
            return i + at
    return -1


def _two(start, step, batches, at, through, again):
    _, whole = _losses(step, start(), batches)
    state, _ = _losses(step, start(), batches[:at])
    _, rest = _losses(step, through(state), again)
    return rest, whole


def _through_text(start, step, save, load, batches, at):
    def again(state):
        return load(save(state))

    return _two(start, step, batches, at, again, batches[at:])


def _right(start, step, save, load, batches, at):
    rest, whole = _through_text(start, step, save, load, batches, at)
    return _first(rest, whole[at:], at)


def apart_after_restart__never_loaded(start, step, save, load, batches, at):
    rest, whole = _two(start, step, batches, at, lambda s: s, batches[at:])
    return _first(rest, whole[at:], at)


def apart_after_restart__data_from_the_beginning(
    start, step, save, load, batches, at
):
    again = batches[: len(batches) - at]
    rest, whole = _two(start, step, batches, at, lambda s: load(save(s)), again)
    return _first(rest, whole[at:], at)


def apart_after_restart__step_twice(start, step, save, load, batches, at):
    again = batches[at - 1 :]
    rest, whole = _two(start, step, batches, at, lambda s: load(save(s)), again)
    return _first(rest, whole[at - 1 :], at - 1)


def apart_after_restart__from_the_restart(start, step, save, load, batches, at):
    rest, whole = _through_text(start, step, save, load, batches, at)
    return _first(rest, whole[at:])


def apart_after_restart__only_the_last(start, step, save, load, batches, at):
    rest, whole = _through_text(start, step, save, load, batches, at)
    return -1 if _first(rest[-1:], whole[-1:]) < 0 else len(batches) - 1


def apart_after_restart__absolute(start, step, save, load, batches, at):
    rest, whole = _through_text(start, step, save, load, batches, at)
    return _first(rest, whole[at:], at, scale=lambda loss: 1)


def apart_after_restart__state_used_again(start, step, save, load, batches, at):
    state, _ = _losses(step, start(), batches[:at])
    _, rest = _losses(step, state, batches[at:])  # may change state
    _, again = _losses(step, load(save(state)), batches[at:])
    return _first(again, rest, at)


def apart_after_restart__a_step_later(start, step, save, load, batches, at):
    return _right(start, step, save, load, batches, at + 1)


def apart_after_restart__to_the_bit(start, step, save, load, batches, at):
    rest, whole = _through_text(start, step, save, load, batches, at)
    pairs = zip(rest, whole[at:], strict=True)
    return next((at + i for i, (a, b) in enumerate(pairs) if a != b), -1)


def _changed(names, before, after, differs):
    pairs = {n: (before.get(n, 0), after.get(n, 0)) for n in names}
    return {n: pair for n, pair in pairs.items() if differs(*pair)}


def changed__new_ones_missed(before, after, within):
    return _changed(before, before, after, lambda a, b: abs(b - a) > within * a)


def changed__gone_ones_missed(before, after, within):
    return _changed(after, before, after, lambda a, b: abs(b - a) > within * a)


def changed__only_more(before, after, within):
    return _changed(
        before | after, before, after, lambda a, b: b - a > within * a
    )


def changed__part_of_the_new(before, after, within):
    return _changed(
        before | after, before, after, lambda a, b: abs(b - a) > within * b
    )


def changed__absolute(before, after, within):
    return _changed(
        before | after, before, after, lambda a, b: abs(b - a) > within
    )


def changed__turned(before, after, within):
    found = _changed(
        before | after, before, after, lambda a, b: abs(b - a) > within * a
    )
    return {name: (now, was) for name, (was, now) in found.items()}
