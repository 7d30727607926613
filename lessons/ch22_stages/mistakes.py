"""Known wrong answers of ch22_stages, as code; words.toml explains them."""

import jax
import jax.numpy as jnp
from jax import P, lax


def _table(stages, microbatches, **other):
    """By the rule. other: what may be kept on a stage ("most"), what is done
    first ("forward first"), which input goes back ("next"), what counts
    already ("same tick", in the order "through")."""
    most = other.get("most", lambda s: stages - s)
    choose = other.get("next", min)
    rows, forward, kept = [], [0] * stages, [set() for _ in range(stages)]
    done = set()

    def can_go_back(s, seen):
        m = choose(kept[s], default=None)
        follows = s == stages - 1 or ("B", m, s + 1) in seen
        return ("F", m, s) in seen and follows

    def can_go_on(s, seen):
        m = forward[s]
        room = m < microbatches and len(kept[s]) < most(s)
        return room and (s == 0 or ("F", m, s - 1) in seen)

    while min(forward) < microbatches or any(kept):
        seen = done if other.get("same tick") else set(done)
        row = [""] * stages
        for s in other.get("through", range(stages)):
            kinds = [k for k, can in (("B", can_go_back), ("F", can_go_on))
                     if can(s, seen)]  # fmt: skip
            if not kinds:
                continue
            kind = kinds[-1] if other.get("forward first") else kinds[0]
            m = choose(kept[s]) if kind == "B" else forward[s]
            done.add((kind, m, s))
            row[s] = f"{kind}{m}"
            if kind == "B":
                kept[s].remove(m)
            else:
                kept[s].add(m)
                forward[s] += 1
        rows.append(row)
    return rows


def one_f_one_b__gpipe(stages, microbatches):
    return _table(
        stages,
        microbatches,
        most=lambda s: microbatches,
        **{"forward first": True},
    )


def one_f_one_b__kept_alike(stages, microbatches):
    return _table(stages, microbatches, most=lambda s: stages)


def one_f_one_b__one_fewer(stages, microbatches):
    return _table(stages, microbatches, most=lambda s: max(1, stages - s - 1))


def one_f_one_b__one_more(stages, microbatches):
    return _table(stages, microbatches, most=lambda s: stages - s + 1)


def one_f_one_b__in_the_same_tick(stages, microbatches):
    return _table(stages, microbatches, **{"same tick": True})


def one_f_one_b__by_stage(stages, microbatches):
    return [
        list(lane) for lane in zip(*_table(stages, microbatches), strict=True)
    ]


def one_f_one_b__back_in_the_same_tick(stages, microbatches):
    through = range(stages)[::-1]
    return _table(stages, microbatches, through=through, **{"same tick": True})


def one_f_one_b__newest_first(stages, microbatches):
    return _table(stages, microbatches, next=max)


def _slots(rows, choose):
    found = []
    for lane in zip(*rows, strict=True):
        slot, taken = {}, set()
        for what in filter(None, lane):
            m = int(what[1:])
            if what[0] == "F":
                slot[m] = choose(m, taken, slot)
                taken.add(slot[m])
            else:
                taken.discard(slot[m])
        found.append([slot[m] for m in sorted(slot)])
    return found


def _most(lane):
    now = most = 0
    for what in filter(None, lane):
        now += 1 if what[0] == "F" else -1
        most = max(most, now)
    return most


def slots__one_each(rows):
    return _slots(rows, lambda m, taken, slot: m)


def slots__modulo(rows):
    found = []
    for lane in zip(*rows, strict=True):
        n = _most(lane)
        found.append([m % n for m in range(sum(x[:1] == "F" for x in lane))])
    return found


def slots__modulo_stages(rows):
    return _slots(rows, lambda m, taken, slot: m % len(rows[0]))


def slots__number_kept(rows):
    return _slots(rows, lambda m, taken, slot: len(taken))


def slots__next_free(rows):
    found = []
    for lane in zip(*rows, strict=True):
        n, last, of, taken = _most(lane), -1, {}, set()
        for what in filter(None, lane):
            m = int(what[1:])
            if what[0] == "B":
                taken.remove(of[m])
                continue
            around = (i % n for i in range(last + 1, last + 1 + n))
            of[m] = last = next(i for i in around if i not in taken)
            taken.add(last)
        found.append([of[m] for m in sorted(of)])
    return found


def _free_in_turn(rows, which):
    """Slots that became free, in that order: which of them is next."""
    found = []
    for lane in zip(*rows, strict=True):
        slot, free = {}, []
        for what in filter(None, lane):
            m = int(what[1:])
            if what[0] == "B":
                free.append(slot[m])
            else:
                new = max(slot.values(), default=-1) + 1
                slot[m] = free.pop(which) if free else new
        found.append([slot[m] for m in sorted(slot)])
    return found


def slots__freed_last(rows):
    return _free_in_turn(rows, -1)


def slots__freed_first(rows):
    return _free_in_turn(rows, 0)


def slots__in_order_of_arrival(rows):
    found = []
    for lane in zip(*rows, strict=True):
        slot, taken = {}, set()
        for what in filter(None, lane):
            m = int(what[1:])
            if what[0] == "F":
                slot[m] = min({*range(len(taken) + 1)} - taken)
                taken.add(slot[m])
            else:
                taken.remove(slot[m])
        found.append([*slot.values()])
    return found


def slots__free_once_sent(rows):
    found, lanes = [], [*zip(*rows, strict=True)]
    for lane, after in zip(lanes, [*lanes[1:], None], strict=True):
        slot, taken = {}, {}
        for tick, what in enumerate(lane):
            if what[:1] == "F":
                m = int(what[1:])
                slot[m] = min({*range(len(taken) + 1)} - {*taken.values()})
                taken[m] = slot[m]
            read = after[tick] if after else what
            if read[:1] == ("F" if after else "B"):
                taken.pop(int(read[1:]), None)
        found.append([slot[m] for m in sorted(slot)])
    return found


def _one_step(orders, w, x, y, rate, **other):
    last, parts = len(w) - 1, other.get("parts", len(x))
    left, came = [list(mine) for mine in orders], {}
    kept, most = [{} for _ in w], [0] * len(w)
    w, g = list(w), [jnp.zeros_like(a) for a in w]
    take = other.get("take", lambda kept, m: kept.pop(m))
    add = other.get("add", lambda s, dw: g[s] + dw)

    def stage(w, a):
        return jnp.tanh(a @ w)

    def loss(w, a, goal):
        return jnp.mean((stage(w, a) - goal) ** 2) / parts

    def do(s, kind, m):
        if kind == "F":
            kept[s][m] = a = came.pop(("F", m, s)) if s else x[m]
            most[s] = max(most[s], len(kept[s]))
            came["F", m, s + 1] = out = stage(w[s], a)
            if other.get("early slope") and s == last:
                came["B", m, s] = 2 * (out - y[m]) / y.size
            return
        a = take(kept[s], m)
        if s == last and ("B", m, s) not in came:
            dw, da = jax.grad(loss, (0, 1))(w[s], a, y[m])
        else:
            dw, da = jax.vjp(stage, w[s], a)[1](came.pop(("B", m, s)))
        g[s] = add(s, dw)
        came["B", m, s - 1] = da
        if other.get("at once"):
            w[s] = w[s] - rate * dw

    while any(left):
        for s, mine in enumerate(left):
            while mine:
                kind, m = mine[0][0], int(mine[0][1:])
                end = 0 if kind == "F" else last
                if s != end and (kind, m, s) not in came:
                    break
                do(s, kind, m)
                mine.pop(0)
    if other.get("at once"):
        return w, most
    return [a - rate * da for a, da in zip(w, g, strict=True)], most


def one_step__updated_between(orders, w, x, y, rate):
    return _one_step(orders, w, x, y, rate, **{"at once": True})


def one_step__latest_input(orders, w, x, y, rate):
    def latest(kept, m):
        return kept.popitem()[1]

    return _one_step(orders, w, x, y, rate, take=latest)


def one_step__oldest_input(orders, w, x, y, rate):
    def oldest(kept, m):
        return kept.pop(next(iter(kept)))

    return _one_step(orders, w, x, y, rate, take=oldest)


def one_step__summed(orders, w, x, y, rate):
    return _one_step(orders, w, x, y, rate, parts=1)


def one_step__averaged_twice(orders, w, x, y, rate):
    return _one_step(orders, w, x, y, rate, parts=len(x) ** 2)


def one_step__last_microbatch(orders, w, x, y, rate):
    return _one_step(orders, w, x, y, rate, add=lambda s, dw: dw)


def one_step__never_dropped(orders, w, x, y, rate):
    return _one_step(orders, w, x, y, rate, take=lambda kept, m: kept[m])


def one_step__updated_between_old_slope(orders, w, x, y, rate):
    other = {"at once": True, "early slope": True}
    return _one_step(orders, w, x, y, rate, **other)


def _pipelined(w, head, x, y, mesh, **other):
    n, microbatches = mesh.size, len(x)
    kept = other.get("kept", jax.checkpoint)
    divided = other.get("divided", lambda total: total / microbatches)
    masked = other.get("masked", lambda s, m: (s == n - 1) & (m >= 0))
    fed = other.get("fed", lambda t: jnp.minimum(t, microbatches - 1))
    asked = other.get("asked", lambda t: jnp.maximum(t - (n - 1), 0))
    to_next = [(i, i + 1) for i in range(n - 1)]
    early = other.get("early")

    def loss(w, head, x, y):
        s = lax.axis_index("stage")
        if not other.get("late"):
            head = lax.pcast(head, "stage", to="varying")

        def tick(carry, t):
            a, total = carry
            if early:
                a = lax.ppermute(a, "stage", to_next)
            a = jnp.where(s == 0, x[fed(t)], a)
            a = a + jnp.tanh(a @ w["up"][0]) @ w["down"][0]
            off = jnp.mean((a @ head - y[asked(t)]) ** 2)
            total += jnp.where(masked(s, t - (n - 1)), off, 0)
            if not early:
                a = lax.ppermute(a, "stage", to_next)
            return (a, total), None

        start = jnp.zeros_like(x[0]), jnp.float32(0)
        start = lax.pcast(start, "stage", to="varying")
        ticks = jnp.arange(microbatches + n - 1)
        (_, total), _ = lax.scan(kept(tick), start, ticks)
        return divided(lax.psum(total, "stage"))

    specs = P("stage"), P(), P(), P()
    mapped = jax.shard_map(loss, mesh=mesh, in_specs=specs, out_specs=P())
    value, (dw, dhead) = jax.value_and_grad(mapped, (0, 1))(w, head, x, y)
    return value, dw, dhead


def pipelined__masked_tick(w, head, x, y, mesh):
    def of_the_last(s, m):
        return s == mesh.size - 1

    return _pipelined(w, head, x, y, mesh, masked=of_the_last)


def pipelined__summed(w, head, x, y, mesh):
    return _pipelined(w, head, x, y, mesh, divided=lambda total: total)


def pipelined__averaged_twice(w, head, x, y, mesh):
    def twice(total):
        return total / len(x) ** 2

    return _pipelined(w, head, x, y, mesh, divided=twice)


def pipelined__by_ticks(w, head, x, y, mesh):
    ticks = len(x) + mesh.size - 1
    return _pipelined(w, head, x, y, mesh, divided=lambda t: t / ticks)


def pipelined__wrong_microbatch(w, head, x, y, mesh):
    last = len(x) - 1
    return _pipelined(w, head, x, y, mesh, asked=lambda t: jnp.minimum(t, last))


def pipelined__every_stage(w, head, x, y, mesh):
    def since_full(s, m):
        return m >= 0

    return _pipelined(w, head, x, y, mesh, masked=since_full)


def pipelined__gradient_times_devices(w, head, x, y, mesh):
    value, dw, dhead = _pipelined(w, head, x, y, mesh)
    return value, dw, dhead * mesh.size


def pipelined__summed_every_tick(w, head, x, y, mesh):
    return _pipelined(w, head, x, y, mesh, late=True)


def pipelined__sent_again(w, head, x, y, mesh):
    return _pipelined(w, head, x, y, mesh, early=True)


def pipelined__all_kept(w, head, x, y, mesh):
    return _pipelined(w, head, x, y, mesh, kept=lambda tick: tick)


def _shared(g, mesh, of):
    spec = P("stage")
    return jax.shard_map(of, mesh=mesh, in_specs=spec, out_specs=spec)(g)


def shared_gradient__of_all(g, mesh):
    last = mesh.size - 1

    def of(g):
        s = lax.axis_index("stage")
        return jnp.where((s == 0) | (s == last), lax.psum(g, "stage"), 0)

    return _shared(g, mesh, of)


def shared_gradient__all_reduce(g, mesh):
    last = mesh.size - 1

    def of(g):
        s = lax.axis_index("stage")
        ends = (s == 0) | (s == last)
        total = lax.psum(jnp.where(ends, g, 0), "stage")
        return jnp.where(ends, total, 0)

    return _shared(g, mesh, of)


def shared_gradient__by_product(g, mesh):
    last = mesh.size - 1

    def of(g):
        s = lax.axis_index("stage")
        other = lax.ppermute(g, "stage", [(0, last), (last, 0)])
        return (g + other) * ((s == 0) | (s == last))

    return _shared(g, mesh, of)


def shared_gradient__one_way(g, mesh):
    last = mesh.size - 1

    def of(g):
        s = lax.axis_index("stage")
        other = lax.ppermute(g, "stage", [(last, 0)])
        return jnp.where((s == 0) | (s == last), g + other, 0)

    return _shared(g, mesh, of)


def shared_gradient__exchanged(g, mesh):
    last = mesh.size - 1

    def of(g):
        return lax.ppermute(g, "stage", [(0, last), (last, 0)])

    return _shared(g, mesh, of)


def shared_gradient__mean(g, mesh):
    last = mesh.size - 1

    def of(g):
        s = lax.axis_index("stage")
        other = lax.ppermute(g, "stage", [(0, last), (last, 0)])
        return jnp.where((s == 0) | (s == last), (g + other) / 2, 0)

    return _shared(g, mesh, of)


def shared_gradient__middle_kept(g, mesh):
    last = mesh.size - 1

    def of(g):
        return g + lax.ppermute(g, "stage", [(0, last), (last, 0)])

    return _shared(g, mesh, of)


def _across(hosts, parts, ways, each):
    count, stages = max(hosts) + 1, len(hosts)
    sent = [[0] * count for _ in range(count)]
    for part in range(parts - 1):
        here, there = hosts[part % stages], hosts[(part + 1) % stages]
        for a, b in ways(here, there):
            if a != b:
                sent[a][b] += each
    return sent


def _both(here, there):
    return (here, there), (there, here)


def bytes_across__no_ring(hosts, chunks, microbatches, message):
    each = chunks * microbatches * message
    return _across(hosts, len(hosts), _both, each)


def bytes_across__forward_only(hosts, chunks, microbatches, message):
    parts = len(hosts) * chunks
    return _across(hosts, parts, lambda a, b: [(a, b)], microbatches * message)


def bytes_across__ring_closed(hosts, chunks, microbatches, message):
    parts = len(hosts) * chunks + 1
    return _across(hosts, parts, _both, microbatches * message)


def bytes_across__one_way_twice(hosts, chunks, microbatches, message):
    parts = len(hosts) * chunks
    return _across(
        hosts, parts, lambda a, b: [(a, b)], 2 * microbatches * message
    )


def bytes_across__a_part_less(hosts, chunks, microbatches, message):
    return _across(hosts, len(hosts), _both, microbatches * message)


def bytes_across__every_tick(hosts, chunks, microbatches, message):
    ticks = 2 * (chunks * microbatches + len(hosts) - 1)
    parts = len(hosts) * chunks
    return _across(hosts, parts, _both, ticks * message)
