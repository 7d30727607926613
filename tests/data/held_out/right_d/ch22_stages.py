import heapq

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# style: a dict from (kind, stage, microbatch) to the tick in which it was done
def one_f_one_b(stages: int, microbatches: int) -> list[list[str]]:
    when = {}
    lists = [{"F": 0, "B": 0} for _ in range(stages)]
    rows = []

    def was_done(kind, s, m):
        if s < 0 or s == stages:
            return True
        return when.get((kind, s, m), len(rows)) < len(rows)

    def choose(s):
        f, b = lists[s]["F"], lists[s]["B"]
        if b < microbatches and was_done("F", s, b) and was_done("B", s + 1, b):
            return "B", b
        if f < microbatches and was_done("F", s - 1, f) and f - b < stages - s:
            return "F", f
        return None

    while ("B", 0, microbatches - 1) not in when and microbatches > 0:
        row = []
        for s in range(stages):
            choice = choose(s)
            if choice is None:
                row.append("")
                continue
            kind, m = choice
            when[kind, s, m] = len(rows)
            lists[s][kind] += 1
            row.append(f"{kind}{m}")
        rows.append(row)
    return rows


# style: a heap of free slots for each stage, grown when it is empty
def slots(rows: list[list[str]]) -> list[list[int]]:
    result = []
    for column in zip(*rows):
        free = []
        size = 0
        slot = {}
        for text in column:
            if not text:
                continue
            m = int(text[1:])
            if text[0] == "B":
                heapq.heappush(free, slot[m])
            elif free:
                slot[m] = heapq.heappop(free)
            else:
                slot[m] = size
                size += 1
        result.append([slot[m] for m in range(len(slot))])
    return result


# style: the derivative of tanh by hand, each stage run as far as it gets
def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    last = len(w) - 1
    todo = [list(reversed(o)) for o in orders]
    come = {("F", 0, m): x[m] for m in range(len(x))}
    kept = [{} for _ in w]
    peak = [0 for _ in w]
    grad = [0.0 * k for k in w]

    while any(todo):
        for s in range(len(w)):
            while todo[s]:
                kind, m = todo[s][-1][0], int(todo[s][-1][1:])
                if (kind, s, m) not in come:
                    break
                todo[s].pop()
                got = come.pop((kind, s, m))
                if kind == "F":
                    kept[s][m] = got
                    peak[s] = max(peak[s], len(kept[s]))
                    out = jnp.tanh(got @ w[s])
                    if s == last:
                        come["B", s, m] = (out - y[m]) * (2.0 / y.size)
                    else:
                        come["F", s + 1, m] = out
                else:
                    a = kept[s].pop(m)
                    out = jnp.tanh(a @ w[s])
                    dz = got * (1.0 - out * out)
                    grad[s] = grad[s] + a.T @ dz
                    if s > 0:
                        come["B", s - 1, m] = dz @ w[s].T
    return [w[s] - rate * grad[s] for s in range(len(w))], peak


# style: value_and_grad of each device's own loss inside shard_map, with the two all-reduces written out after it
def pipelined(
    w: dict[str, jax.Array],
    head: jax.Array,
    x: jax.Array,
    y: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, dict[str, jax.Array], jax.Array]:
    n = mesh.shape["stage"]
    count = x.shape[0]
    onwards = [(s, (s + 1) % n) for s in range(n)]

    def local(w, head, x, y):
        stage = lax.axis_index("stage")

        @jax.checkpoint
        def layer_and_loss(params, head, a, t):
            a = jnp.where(stage == 0, x[jnp.minimum(t, count - 1)], a)
            out = a + jnp.tanh(a @ params["up"][0]) @ params["down"][0]
            goal = y[jnp.maximum(t - (n - 1), 0)]
            return out, jnp.mean((out @ head - goal) ** 2)

        def own_loss(params, head):
            def tick(carry, t):
                sent, total = carry
                came = lax.ppermute(sent, "stage", onwards)
                out, err = layer_and_loss(params, head, came, t)
                counted = (stage == n - 1) & (t >= n - 1)
                return (out, total + jnp.where(counted, err, 0.0)), None

            start = (jnp.zeros_like(x[0]), jnp.float32(0))
            (_, total), _ = lax.scan(tick, start, jnp.arange(count + n - 1))
            return total / count

        loss, (gw, gh) = jax.value_and_grad(own_loss, argnums=(0, 1))(w, head)
        return lax.psum(loss, "stage"), gw, lax.psum(gh, "stage")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("stage"), P(), P(), P()),
        out_specs=(P(), P("stage"), P()),
        check_vma=False,
    )(w, head, x, y)


# style: two permutes, the head's gradient to the first device and the sum back to the last
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["stage"]

    def local(g):
        first = lax.axis_index("stage") == 0
        came = lax.ppermute(g, "stage", [(n - 1, 0)])
        total = jnp.where(first, g + came, 0.0)
        return total + lax.ppermute(total, "stage", [(0, n - 1)])

    return jax.shard_map(local, mesh=mesh, in_specs=P("stage"), out_specs=P("stage"))(g)


# style: each pair of neighbouring stages with how often it is crossed: v times, from the last to the first v - 1 times
def bytes_across(
    hosts: list[int], chunks: int, microbatches: int, message: int
) -> list[list[int]]:
    size = microbatches * message
    links = [(a, b, chunks) for a, b in zip(hosts, hosts[1:])]
    links.append((hosts[-1], hosts[0], chunks - 1))

    def total(i, j):
        if i == j:
            return 0
        return sum(
            times * size for a, b, times in links if (a, b) == (i, j) or (b, a) == (i, j)
        )

    every = range(max(hosts) + 1)
    return [[total(i, j) for j in every] for i in every]
