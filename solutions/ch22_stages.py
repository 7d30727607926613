"""ch22_stages, solved."""

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


def one_f_one_b(stages: int, microbatches: int) -> list[list[str]]:
    rows, when = [], {}  # when: (kind, microbatch, stage) → its tick
    forward, back = [0] * stages, [0] * stages  # how many are done
    while back[0] < microbatches:
        done, row = set(when), []
        for s in range(stages):
            f, b = forward[s], back[s]
            follows = s == stages - 1 or ("B", b, s + 1) in done
            if ("F", b, s) in done and follows:
                op, back[s] = ("B", b, s), b + 1
            elif (
                f < microbatches
                and f - b < stages - s
                and (s == 0 or ("F", f, s - 1) in done)
            ):
                op, forward[s] = ("F", f, s), f + 1
            else:
                row.append("")
                continue
            when[op] = len(rows)
            row.append(f"{op[0]}{op[1]}")
        rows.append(row)
    return rows


def slots(rows: list[list[str]]) -> list[list[int]]:
    found = []
    for lane in zip(*rows, strict=True):
        slot, taken = {}, set()
        for what in filter(None, lane):
            m = int(what[1:])
            if what[0] == "F":
                slot[m] = min(set(range(len(taken) + 1)) - taken)
                taken.add(slot[m])
            else:
                taken.remove(slot[m])
        found.append([slot[m] for m in sorted(slot)])
    return found


def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    last = len(w) - 1
    left, came = [list(mine) for mine in orders], {}
    kept, most = [{} for _ in w], [0] * len(w)
    g = [jnp.zeros_like(a) for a in w]

    def stage(w, a):
        return jnp.tanh(a @ w)

    def loss(w, a, goal):
        return jnp.mean((stage(w, a) - goal) ** 2) / len(x)

    def do(s, kind, m):
        if kind == "F":
            kept[s][m] = a = came.pop(("F", m, s)) if s else x[m]
            most[s] = max(most[s], len(kept[s]))
            if s < last:
                came["F", m, s + 1] = stage(w[s], a)
            return
        a = kept[s].pop(m)
        if s == last:
            dw, da = jax.grad(loss, (0, 1))(w[s], a, y[m])
        else:
            dw, da = jax.vjp(stage, w[s], a)[1](came.pop(("B", m, s)))
        g[s] += dw
        came["B", m, s - 1] = da

    while any(left):
        for s, mine in enumerate(left):
            while mine:
                kind, m = mine[0][0], int(mine[0][1:])
                end = 0 if kind == "F" else last
                if s != end and (kind, m, s) not in came:
                    break
                do(s, kind, m)
                mine.pop(0)
    return [a - rate * da for a, da in zip(w, g, strict=True)], most


def pipelined(
    w: dict[str, jax.Array],
    head: jax.Array,
    x: jax.Array,
    y: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, dict[str, jax.Array], jax.Array]:
    n, microbatches = mesh.size, len(x)

    def loss(w, head, x, y):
        s = lax.axis_index("stage")
        head = lax.pcast(head, "stage", to="varying")  # summed once, at the end

        @jax.checkpoint
        def tick(carry, t):
            a, total = carry
            a = jnp.where(s == 0, x[jnp.minimum(t, microbatches - 1)], a)
            a = a + jnp.tanh(a @ w["up"][0]) @ w["down"][0]
            m = t - (n - 1)  # of the last stage
            off = jnp.mean((a @ head - y[jnp.maximum(m, 0)]) ** 2)
            total += jnp.where((s == n - 1) & (m >= 0), off, 0)
            to_next = [(i, i + 1) for i in range(n - 1)]
            return (lax.ppermute(a, "stage", to_next), total), None

        start = jnp.zeros_like(x[0]), jnp.float32(0)
        start = lax.pcast(start, "stage", to="varying")
        ticks = jnp.arange(microbatches + n - 1)
        (_, total), _ = lax.scan(tick, start, ticks)
        return lax.psum(total, "stage") / microbatches

    specs = P("stage"), P(), P(), P()
    mapped = jax.shard_map(loss, mesh=mesh, in_specs=specs, out_specs=P())
    value, (dw, dhead) = jax.value_and_grad(mapped, (0, 1))(w, head, x, y)
    return value, dw, dhead


def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    last = mesh.size - 1

    def on_each(g):
        s = lax.axis_index("stage")
        other = lax.ppermute(g, "stage", [(0, last), (last, 0)])
        return jnp.where((s == 0) | (s == last), g + other, 0)

    spec = P("stage")
    return jax.shard_map(on_each, mesh=mesh, in_specs=spec, out_specs=spec)(g)


def bytes_across(
    hosts: list[int], chunks: int, microbatches: int, message: int
) -> list[list[int]]:
    stages, count = len(hosts), max(hosts) + 1
    sent = [[0] * count for _ in range(count)]
    for part in range(stages * chunks - 1):  # from this part to the next
        here, there = hosts[part % stages], hosts[(part + 1) % stages]
        if here != there:
            sent[here][there] += microbatches * message
            sent[there][here] += microbatches * message
    return sent
