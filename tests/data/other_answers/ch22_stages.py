"""Other answers to the exercises of ch22_stages: right ones, known mistakes, and other wrong ones."""

import heapq
from collections import Counter

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from lessons.ch22_stages import mistakes


def one_f_one_b__right(stages, microbatches):
    """Of each stage a list; then each does the next of it when it can."""
    lists = []
    for s in range(stages):
        early = min(stages - 1 - s, microbatches)
        mine = [f"F{m}" for m in range(early)]
        for m in range(microbatches):
            mine += [f"F{m + early}"] * (m + early < microbatches)
            mine.append(f"B{m}")
        lists.append(mine)
    rows, at = [], [0] * stages
    while at[0] < len(lists[0]):
        row = []
        for s, mine in enumerate(lists):
            what = mine[at[s]] if at[s] < len(mine) else ""
            from_ = s - 1 if what[:1] == "F" else s + 1
            if what and 0 <= from_ < stages and what not in lists[from_][: at[from_]]:
                what = ""
            row.append(what)
        at = [n + bool(what) for n, what in zip(at, row, strict=True)]
        rows.append(row)
    return rows


def one_f_one_b__as_one_text(stages, microbatches):
    from solutions.ch22_stages import one_f_one_b

    return [" ".join(row) for row in one_f_one_b(stages, microbatches)]


def one_f_one_b__an_empty_tick(stages, microbatches):
    from solutions.ch22_stages import one_f_one_b

    return [*one_f_one_b(stages, microbatches), [""] * stages]


def one_f_one_b__from_one(stages, microbatches):
    from solutions.ch22_stages import one_f_one_b

    return [[what and what[0] + str(int(what[1:]) + 1) for what in row] for row in one_f_one_b(stages, microbatches)]


def slots__right(rows):
    found = []
    for s in range(len(rows[0])):
        free, made, of = [], 0, {}
        for row in rows:
            kind, m = row[s][:1], row[s][1:]
            if kind == "B":
                heapq.heappush(free, of[int(m)])
            elif kind == "F":
                if not free:
                    heapq.heappush(free, made)
                    made += 1
                of[int(m)] = heapq.heappop(free)
        found.append([of[m] for m in range(len(of))])
    return found


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


def one_step__right(orders, w, x, y, rate):
    """Every stage recursively asks its neighbours for what it needs; gradients of sums of all."""

    def out(s, m):
        return x[m] if s < 0 else jnp.tanh(out(s - 1, m) @ w[s])

    new = []
    for s in range(len(w)):

        def loss(v, s=s):
            total = 0.0
            for m in range(len(x)):
                a = jnp.tanh(out(s - 1, m) @ v)
                for u in w[s + 1 :]:
                    a = jnp.tanh(a @ u)
                total = total + jnp.mean((a - y[m]) ** 2)
            return total / len(x)

        new.append(w[s] - rate * jax.grad(loss)(w[s]))
    most = []
    for mine in orders:
        there, top = set(), 0
        for what in mine:
            (there.add if what[0] == "F" else there.remove)(what[1:])
            top = max(top, len(there))
        most.append(top)
    return new, most


def one_step__gradients(orders, w, x, y, rate):
    new, most = mistakes._one_step(orders, w, x, y, 1.0)
    return [a - b for a, b in zip(w, new, strict=True)], most


def pipelined__right(w, head, x, y, mesh):
    """value_and_grad inside: each device has its own loss, and sums at the end."""
    n, parts = mesh.size, len(x)

    def device(up, down, head, x, y):
        s = lax.axis_index("stage")

        def own(weights):
            up, down, head = weights

            def tick(a, t):
                a = jnp.where(s == 0, x.at[t].get(mode="clip"), a)
                a = a + jnp.tanh(a @ up) @ down
                sent = lax.ppermute(a, "stage", [(i, i + 1) for i in range(n - 1)])
                i = t - n + 1
                off = a @ head - y.at[jnp.where(i < 0, 0, i)].get(mode="clip")
                return sent, jnp.where(i < 0, 0.0, jnp.mean(off**2))

            none = lax.pcast(jnp.zeros_like(x[0]), "stage", to="varying")
            _, losses = lax.scan(jax.checkpoint(tick), none, jnp.arange(parts + n - 1))
            return jnp.where(s == n - 1, losses.sum() / parts, 0.0)

        head = lax.pcast(head, "stage", to="varying")
        loss, (dup, ddown, dhead) = jax.value_and_grad(own)((up[0], down[0], head))
        loss, dhead = lax.psum((loss, dhead), "stage")
        return loss, {"up": dup[None], "down": ddown[None]}, dhead

    cut = P("stage")
    f = jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(cut, cut, P(), P(), P()),
        out_specs=(P(), cut, P()),
    )
    return f(w["up"], w["down"], head, x, y)


def pipelined__right_otherwise(w, head, x, y, mesh):
    """The ticks both ways by hand: inputs kept, backward by vjp."""
    n, parts = mesh.size, len(x)
    ticks = parts + n - 1

    def device(w, head, x, y):
        s = lax.axis_index("stage")
        to_next = [(i, i + 1) for i in range(n - 1)]
        to_last = [(i + 1, i) for i in range(n - 1)]
        w = jax.tree.map(lambda a: a[0], w)
        head, x, y = (lax.pcast(a, "stage", to="varying") for a in (head, x, y))

        def layer(w, a):
            return a + jnp.tanh(a @ w["up"]) @ w["down"]

        def loss(head, a, goal):
            return jnp.mean((a @ head - goal) ** 2) / parts

        def ahead(a, t):
            a = jnp.where(s == 0, x[jnp.minimum(t, parts - 1)], a)
            return lax.ppermute(layer(w, a), "stage", to_next), a

        none = jnp.zeros_like(x[0])
        _, kept = lax.scan(ahead, none, jnp.arange(ticks))

        def back(carry, t):
            da, total, dw, dhead = carry
            out, pull = jax.vjp(layer, w, kept[t])
            mine = (s == n - 1) & (t >= n - 1)
            of = jax.value_and_grad(loss, (0, 1))
            off, (dh, dout) = of(head, out, y[jnp.maximum(t - n + 1, 0)])
            total = total + jnp.where(mine, off, 0)
            dhead = dhead + jnp.where(mine, dh, 0)
            more, da = pull(jnp.where(s == n - 1, jnp.where(mine, dout, 0), da))
            dw = jax.tree.map(jnp.add, dw, more)
            return (lax.ppermute(da, "stage", to_last), total, dw, dhead), None

        zero = jax.tree.map(jnp.zeros_like, (none, x[0, 0, 0], w, head))
        (_, total, dw, dhead), _ = lax.scan(back, zero, jnp.arange(ticks), reverse=True)
        total, dhead = lax.psum((total, dhead), "stage")
        return total, jax.tree.map(lambda a: a[None], dw), dhead

    cut = P("stage")
    specs = {"in_specs": (cut, P(), P(), P()), "out_specs": (P(), cut, P())}
    return jax.shard_map(device, mesh=mesh, **specs)(w, head, x, y)


def pipelined__sent_again(w, head, x, y, mesh):
    """Received at the start of a tick, which is checkpointed whole."""
    n, parts = mesh.size, len(x)
    to_next = [(i, (i + 1) % n) for i in range(n)]

    def device(w, head, x, y):
        s = lax.axis_index("stage")

        def own(w, head):
            @jax.checkpoint
            def tick(sent, t):
                a = lax.ppermute(sent, "stage", to_next)
                a = jnp.where(s == 0, x[jnp.minimum(t, parts - 1)], a)
                out = a + jnp.tanh(a @ w["up"][0]) @ w["down"][0]
                m = t - (n - 1)
                off = jnp.mean((out @ head - y[jnp.maximum(m, 0)]) ** 2)
                return out, jnp.where((s == n - 1) & (m >= 0), off, 0.0)

            none = jnp.zeros_like(x[0])
            _, offs = lax.scan(tick, none, jnp.arange(parts + n - 1))
            return offs.sum() / parts

        loss, (dw, dhead) = jax.value_and_grad(own, (0, 1))(w, head)
        return lax.psum(loss, "stage"), dw, lax.psum(dhead, "stage")

    cut = P("stage")
    specs = {"in_specs": (cut, P(), P(), P()), "out_specs": (P(), cut, P())}
    specs["check_vma"] = False
    return jax.shard_map(device, mesh=mesh, **specs)(w, head, x, y)


def pipelined__all_kept(w, head, x, y, mesh):
    """Gradients inside the mapped function, of a loop without a checkpoint."""
    n, parts = mesh.size, len(x)

    def device(w, head, x, y):
        s = lax.axis_index("stage")

        def own(w, head):
            def tick(a, t):
                a = jnp.where(s == 0, x[jnp.minimum(t, parts - 1)], a)
                a = a + jnp.tanh(a @ w["up"][0]) @ w["down"][0]
                off = jnp.mean((a @ head - y[jnp.maximum(t - n + 1, 0)]) ** 2)
                sent = lax.ppermute(a, "stage", [(i, i + 1) for i in range(n - 1)])
                return sent, off

            none = lax.pcast(jnp.zeros_like(x[0]), "stage", to="varying")
            _, offs = lax.scan(tick, none, jnp.arange(parts + n - 1))
            return jnp.where(s == n - 1, offs[n - 1 :].mean(), 0)

        head = lax.pcast(head, "stage", to="varying")
        loss, (dw, dhead) = jax.value_and_grad(own, (0, 1))(w, head)
        return lax.psum(loss, "stage"), dw, lax.psum(dhead, "stage")

    cut = P("stage")
    specs = {"in_specs": (cut, P(), P(), P()), "out_specs": (P(), cut, P())}
    return jax.shard_map(device, mesh=mesh, **specs)(w, head, x, y)


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


def shared_gradient__all_reduce(g, mesh):
    def device(g):
        s = lax.axis_index("stage")
        middle = (s > 0) & (s < mesh.size - 1)
        return jnp.where(middle, 0, lax.psum(jnp.where(middle, 0, g), "stage"))

    return jax.shard_map(device, mesh=mesh, in_specs=P("stage"), out_specs=P("stage"))(g)


def _ends(g, mesh, of):
    last = mesh.shape["stage"] - 1

    def device(g):
        s = lax.axis_index("stage")
        end = (s == 0) | (s == last)
        there = lax.ppermute(g, "stage", perm=((last, 0), (0, last)))
        return of(g, there, end, s)

    spec = P("stage", None, None)
    return jax.shard_map(device, mesh=mesh, in_specs=spec, out_specs=spec)(g)


def shared_gradient__middle_kept(g, mesh):
    return _ends(g, mesh, lambda g, there, end, s: g + there)


def shared_gradient__gathered(g, mesh):
    total = g[0] + g[-1]
    out = jnp.zeros_like(g).at[0].set(total).at[-1].set(total)
    return lax.with_sharding_constraint(out, jax.NamedSharding(mesh, P("stage")))


def bytes_across__right(hosts, chunks, microbatches, message):
    places = hosts * chunks
    pairs = list(zip(places[:-1], places[1:], strict=True))
    counts = Counter(pairs) + Counter((b, a) for a, b in pairs)
    every = range(max(hosts) + 1)
    return [[counts[i, j] * microbatches * message * (i != j) for j in every] for i in every]


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
