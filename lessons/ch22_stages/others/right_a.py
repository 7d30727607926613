"""ch22_stages solved another way: by lists, heaps, sums of masked parts, gradients inside the mapped function."""

import heapq
from collections import Counter

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def one_f_one_b(stages, microbatches):
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
            if (
                what
                and 0 <= from_ < stages
                and what not in lists[from_][: at[from_]]
            ):
                what = ""
            row.append(what)
        at = [n + bool(what) for n, what in zip(at, row, strict=True)]
        rows.append(row)
    return rows


def slots(rows):
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


def one_step(orders, w, x, y, rate):
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


def pipelined(w, head, x, y, mesh):
    """value_and_grad inside: each device has its own loss, and sums at the end."""
    n, parts = mesh.size, len(x)

    def device(up, down, head, x, y):
        s = lax.axis_index("stage")

        def own(weights):
            up, down, head = weights

            def tick(a, t):
                a = jnp.where(s == 0, x.at[t].get(mode="clip"), a)
                a = a + jnp.tanh(a @ up) @ down
                sent = lax.ppermute(
                    a, "stage", [(i, i + 1) for i in range(n - 1)]
                )
                i = t - n + 1
                off = a @ head - y.at[jnp.where(i < 0, 0, i)].get(mode="clip")
                return sent, jnp.where(i < 0, 0.0, jnp.mean(off**2))

            none = lax.pcast(jnp.zeros_like(x[0]), "stage", to="varying")
            _, losses = lax.scan(
                jax.checkpoint(tick), none, jnp.arange(parts + n - 1)
            )
            return jnp.where(s == n - 1, losses.sum() / parts, 0.0)

        head = lax.pcast(head, "stage", to="varying")
        loss, (dup, ddown, dhead) = jax.value_and_grad(own)(
            (up[0], down[0], head)
        )
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


def shared_gradient(g, mesh):
    n = mesh.shape["stage"]

    def device(g):
        s = lax.axis_index("stage")
        there = lax.ppermute(g, "stage", [(n - 1, 0), (0, n - 1)])
        return lax.cond(
            (s > 0) & (s < n - 1), lambda: jnp.zeros_like(g), lambda: g + there
        )

    spec = P("stage", None, None)
    return jax.jit(
        jax.shard_map(device, mesh=mesh, in_specs=spec, out_specs=spec)
    )(g)


def bytes_across(hosts, chunks, microbatches, message):
    places = hosts * chunks
    pairs = list(zip(places[:-1], places[1:], strict=True))
    counts = Counter(pairs) + Counter((b, a) for a, b in pairs)
    every = range(max(hosts) + 1)
    return [
        [counts[i, j] * microbatches * message * (i != j) for j in every]
        for i in every
    ]
