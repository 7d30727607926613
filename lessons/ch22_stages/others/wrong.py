"""Mistakes of ch22_stages once more, spelled differently, where that may tell: the name must be the same."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def _by_hand(w, head, x, y, mesh, **other):
    """Ticks there and back by hand. other: a step's name and what stands in its place."""
    n, parts = mesh.size, len(x)
    ticks = parts + n - 1
    by = other.get("by", parts)
    goal = other.get("goal", lambda t: jnp.maximum(t - n + 1, 0))
    counts = other.get("counts", lambda s, t: (s == n - 1) & (t >= n - 1))
    each = other.get("each", lambda dh: dh)
    at_last = other.get("at_last", lambda dhead: lax.psum(dhead, "stage"))

    def device(w, head, x, y):
        s = lax.axis_index("stage")
        ahead, behind = [[(i, i + 1), (i + 1, i)] for i in range(n - 1)], None
        ahead, behind = [a for a, _ in ahead], [b for _, b in ahead]
        w = jax.tree.map(lambda a: a[0], w)
        head, x, y = (lax.pcast(a, "stage", to="varying") for a in (head, x, y))

        def layer(w, a):
            return a + jnp.tanh(a @ w["up"]) @ w["down"]

        def loss(head, a, goal):
            return jnp.mean(jnp.square(a @ head - goal)) / by

        def forth(a, t):
            a = jnp.where(s == 0, x[jnp.minimum(t, parts - 1)], a)
            return lax.ppermute(layer(w, a), "stage", ahead), a

        none = jnp.zeros_like(x[0])
        _, kept = lax.scan(forth, none, jnp.arange(ticks))

        def back(carry, t):
            da, total, dw, dhead = carry
            out, pull = jax.vjp(layer, w, kept[t])
            mine = counts(s, t)
            off, (dh, dout) = jax.value_and_grad(loss, (0, 1))(
                head, out, y[goal(t)]
            )
            total = total + jnp.where(mine, off, 0)
            dhead = dhead + each(jnp.where(mine, dh, 0))
            from_right = jnp.where(s == n - 1, 0, da)
            more, da = pull(from_right + jnp.where(mine, dout, 0))
            dw = jax.tree.map(jnp.add, dw, more)
            return (lax.ppermute(da, "stage", behind), total, dw, dhead), None

        zero = jax.tree.map(jnp.zeros_like, (none, x[0, 0, 0], w, each(head)))
        (_, total, dw, dhead), _ = lax.scan(back, zero, jnp.arange(ticks)[::-1])
        return (
            lax.psum(total, "stage"),
            jax.tree.map(lambda a: a[None], dw),
            at_last(dhead),
        )

    cut = P("stage")
    specs = {"in_specs": (cut, P(), P(), P()), "out_specs": (P(), cut, P())}
    return jax.shard_map(device, mesh=mesh, **specs)(w, head, x, y)


def pipelined__masked_tick(w, head, x, y, mesh):
    return _by_hand(
        w, head, x, y, mesh, counts=lambda s, t: (s == mesh.size - 1) & (t >= 0)
    )


def pipelined__summed(w, head, x, y, mesh):
    return _by_hand(w, head, x, y, mesh, by=1)


def pipelined__averaged_twice(w, head, x, y, mesh):
    return _by_hand(w, head, x, y, mesh, by=len(x) * len(x))


def pipelined__by_ticks(w, head, x, y, mesh):
    return _by_hand(w, head, x, y, mesh, by=len(x) + mesh.shape["stage"] - 1)


def pipelined__wrong_microbatch(w, head, x, y, mesh):
    return _by_hand(
        w, head, x, y, mesh, goal=lambda t: jnp.clip(t, 0, len(x) - 1)
    )


def pipelined__every_stage(w, head, x, y, mesh):
    return _by_hand(w, head, x, y, mesh, counts=lambda s, t: t >= mesh.size - 1)


def pipelined__gradient_times_devices(w, head, x, y, mesh):
    def more(dhead):
        return lax.psum(dhead * mesh.shape["stage"], "stage")

    return _by_hand(w, head, x, y, mesh, at_last=more)


def pipelined__summed_every_tick(w, head, x, y, mesh):
    return _by_hand(
        w,
        head,
        x,
        y,
        mesh,
        each=lambda dh: lax.psum(dh, "stage"),
        at_last=lambda dhead: dhead,
    )


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
                sent = lax.ppermute(
                    a, "stage", [(i, i + 1) for i in range(n - 1)]
                )
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


def _ends(g, mesh, of):
    last = mesh.shape["stage"] - 1

    def device(g):
        s = lax.axis_index("stage")
        end = (s == 0) | (s == last)
        there = lax.ppermute(g, "stage", perm=((last, 0), (0, last)))
        return of(g, there, end, s)

    spec = P("stage", None, None)
    return jax.shard_map(device, mesh=mesh, in_specs=spec, out_specs=spec)(g)


def shared_gradient__of_all(g, mesh):
    n = mesh.size
    total = g.sum(0)
    out = jnp.zeros_like(g).at[jnp.array([0, n - 1])].set(total)
    return lax.with_sharding_constraint(
        out, jax.NamedSharding(mesh, P("stage"))
    )


def shared_gradient__all_reduce(g, mesh):
    def device(g):
        s = lax.axis_index("stage")
        middle = (s > 0) & (s < mesh.size - 1)
        return jnp.where(middle, 0, lax.psum(jnp.where(middle, 0, g), "stage"))

    return jax.shard_map(
        device, mesh=mesh, in_specs=P("stage"), out_specs=P("stage")
    )(g)


def shared_gradient__by_product(g, mesh):
    return _ends(g, mesh, lambda g, there, end, s: jnp.float32(end) * g + there)


def shared_gradient__one_way(g, mesh):
    def of(g, there, end, s):
        return jnp.where(s == 0, g + there, jnp.where(end, g, 0))

    return _ends(g, mesh, of)


def shared_gradient__exchanged(g, mesh):
    return _ends(g, mesh, lambda g, there, end, s: there)


def shared_gradient__mean(g, mesh):
    return _ends(
        g, mesh, lambda g, there, end, s: jnp.where(end, 0.5 * (g + there), 0)
    )


def shared_gradient__middle_kept(g, mesh):
    return _ends(g, mesh, lambda g, there, end, s: g + there)


def one_f_one_b__back_in_the_same_tick(stages, microbatches):
    fwd = [0] * stages
    bwd = [0] * stages
    rows = []
    while bwd[0] < microbatches:
        row = [""] * stages
        for s in reversed(range(stages)):
            if bwd[s] < fwd[s] and (s == stages - 1 or bwd[s] < bwd[s + 1]):
                row[s] = f"B{bwd[s]}"
                bwd[s] += 1
            elif (
                fwd[s] < microbatches
                and (s == 0 or fwd[s] < fwd[s - 1])
                and fwd[s] - bwd[s] < stages - s
            ):
                row[s] = f"F{fwd[s]}"
                fwd[s] += 1
        rows.append(row)
    return rows


def one_f_one_b__newest_first(stages, microbatches):
    fwd = [0] * stages
    stack = [[] for _ in range(stages)]
    done = [set() for _ in range(stages)]
    rows = []
    while len(done[0]) < microbatches:
        fwd_before = list(fwd)
        done_before = [set(d) for d in done]
        row = []
        for s in range(stages):
            top = stack[s][-1] if stack[s] else None
            m = fwd_before[s]
            if top is not None and (
                s == stages - 1 or top in done_before[s + 1]
            ):
                row.append(f"B{top}")
                stack[s].pop()
                done[s].add(top)
            elif (
                m < microbatches
                and (s == 0 or m < fwd_before[s - 1])
                and len(stack[s]) < stages - s
            ):
                row.append(f"F{m}")
                stack[s].append(m)
                fwd[s] += 1
            else:
                row.append("")
        rows.append(row)
    return rows


def slots__freed_last(rows):
    out = []
    for lane in zip(*rows, strict=True):
        stack = list(range(len(lane)))[::-1]
        where = {}
        for what in lane:
            if what[:1] == "F":
                where[int(what[1:])] = stack.pop()
            elif what[:1] == "B":
                stack.append(where[int(what[1:])])
        out.append([where[m] for m in range(len(where))])
    return out


def slots__freed_first(rows):
    out = []
    for lane in zip(*rows, strict=True):
        waiting, made, where = [], 0, {}
        for what in lane:
            if what[:1] == "B":
                waiting.append(where[int(what[1:])])
            elif what and waiting:
                where[int(what[1:])], *waiting = waiting
            elif what:
                where[int(what[1:])] = made
                made += 1
        out.append([where[m] for m in range(len(where))])
    return out


def slots__in_order_of_arrival(rows):
    out = []
    for lane in zip(*rows, strict=True):
        buffer, came = [], []
        for what in lane:
            if what[:1] == "F":
                if None not in buffer:
                    buffer.append(None)
                came.append(buffer.index(None))
                buffer[came[-1]] = what[1:]
            elif what:
                buffer[buffer.index(what[1:])] = None
        out.append(came)
    return out


def slots__free_once_sent(rows):
    stages = len(rows[0])
    out = []
    for s in range(stages):
        held = {}
        where = {}
        for row in rows:
            if row[s].startswith("F"):
                m = int(row[s][1:])
                slot = 0
                while slot in held.values():
                    slot += 1
                held[m] = slot
                where[m] = slot
            for m in list(held):
                over = (
                    row[s] == f"B{m}"
                    if s == stages - 1
                    else row[s + 1] == f"F{m}"
                )
                if over:
                    del held[m]
        out.append([where[m] for m in sorted(where)])
    return out


def one_step__updated_between_old_slope(orders, w, x, y, rate):
    n = len(w)
    w = list(w)
    inbox = [{} for _ in range(n)]
    inbox[0] = {m: x[m] for m in range(x.shape[0])}
    errors = [{} for _ in range(n)]
    kept = [{} for _ in range(n)]
    most = [0] * n
    at = [0] * n

    def layer(k, a):
        return jnp.tanh(a @ k)

    while any(at[s] < len(orders[s]) for s in range(n)):
        for s in range(n):
            if at[s] == len(orders[s]):
                continue
            op = orders[s][at[s]]
            m = int(op[1:])
            if op[0] == "F":
                if m not in inbox[s]:
                    continue
                a = inbox[s].pop(m)
                kept[s][m] = a
                most[s] = max(most[s], len(kept[s]))
                out = layer(w[s], a)
                if s + 1 < n:
                    inbox[s + 1][m] = out
                else:
                    errors[s][m] = 2 * (out - y[m]) / y.size
            else:
                if m not in errors[s]:
                    continue
                _, back = jax.vjp(layer, w[s], kept[s].pop(m))
                gw, ga = back(errors[s].pop(m))
                w[s] = w[s] - rate * gw
                if s > 0:
                    errors[s - 1][m] = ga
            at[s] += 1
    return w, most
