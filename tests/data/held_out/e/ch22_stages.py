import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: every stage may keep as many inputs as there are stages, not fewer the later it comes.
def one_f_one_b(stages: int, microbatches: int) -> list[list[str]]:
    S, M = stages, microbatches
    forward, backward = [0] * S, [0] * S
    table = []
    while backward[0] < M:
        f, b = list(forward), list(backward)
        row = []
        for s in range(S):
            can_b = b[s] < f[s] and (s == S - 1 or b[s + 1] > b[s])
            can_f = f[s] < M and (s == 0 or f[s - 1] > f[s]) and f[s] - b[s] < S
            if can_b:
                row.append(f"B{b[s]}")
                backward[s] += 1
            elif can_f:
                row.append(f"F{f[s]}")
                forward[s] += 1
            else:
                row.append("")
        table.append(row)
    return table


# what: the buffer is used in turn: microbatch m lies in slot m modulo the most inputs that are kept at once, which is the lowest free one.
def slots(rows: list[list[str]]) -> list[list[int]]:
    result = []
    for s in range(len(rows[0])):
        texts = [row[s] for row in rows if row[s]]
        kept = most = 0
        numbers = []
        for text in texts:
            if text[0] == "F":
                kept += 1
                most = max(most, kept)
                numbers.append(int(text[1:]))
            else:
                kept -= 1
        result.append([m % most for m in sorted(numbers)])
    return result


# what: a stage may update its weights after each microbatch's backward, by its part of the mean; the steps add up to the same.
def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    S = len(orders)
    w = list(w)
    todo = [list(order) for order in orders]
    arrived = {(0, m): x[m] for m in range(x.shape[0])}
    outs, grads = {}, {}
    kept = [dict() for _ in range(S)]
    most = [0] * S

    def stage(a, weights):
        return jnp.tanh(a @ weights)

    moved = True
    while moved:
        moved = False
        for s in range(S):
            if not todo[s]:
                continue
            kind, m = todo[s][0][0], int(todo[s][0][1:])
            if kind == "F":
                if (s, m) not in arrived:
                    continue
                a = arrived.pop((s, m))
                kept[s][m] = a
                most[s] = max(most[s], len(kept[s]))
                out = stage(a, w[s])
                if s + 1 < S:
                    arrived[s + 1, m] = out
                else:
                    grads[s, m] = 2 * (out - y[m]) / y.size
            else:
                if (s, m) not in grads:
                    continue
                _, back = jax.vjp(stage, kept[s].pop(m), w[s])
                to_input, to_weights = back(grads.pop((s, m)))
                if s > 0:
                    grads[s - 1, m] = to_input
                w[s] = w[s] - rate * to_weights
            todo[s].pop(0)
            moved = True
    return w, most


# what: while the pipeline fills, the last stage works on zeros, which add nothing to the loss, so these ticks need no mask.
def pipelined(
    w: dict[str, jax.Array],
    head: jax.Array,
    x: jax.Array,
    y: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, dict[str, jax.Array], jax.Array]:
    n = mesh.shape["stage"]
    M = x.shape[0]
    forward = [(i, (i + 1) % n) for i in range(n)]

    def local(w, head, x, y):
        up, down = w["up"][0], w["down"][0]
        s = lax.axis_index("stage")
        head = lax.pcast(head, "stage", to="varying")

        @jax.checkpoint
        def work(up, down, head, arrived, t):
            a = jnp.where(s == 0, x[jnp.clip(t, 0, M - 1)], arrived)
            a = a + jnp.tanh(a @ up) @ down
            target = y[jnp.clip(t - (n - 1), 0, M - 1)]
            loss = jnp.mean((a @ head - target) ** 2)
            return a, jnp.where(s == n - 1, loss, 0.0)

        def tick(carry, t):
            arrived, total = carry
            a, loss = work(up, down, head, arrived, t)
            return (lax.ppermute(a, "stage", forward), total + loss), None

        start = lax.pcast(
            (jnp.zeros(x.shape[1:], x.dtype), jnp.float32(0)), "stage", to="varying"
        )
        (_, total), _ = lax.scan(tick, start, jnp.arange(M + n - 1))
        return lax.psum(total, "stage") / M

    cut = P("stage")
    run = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=({"up": cut, "down": cut}, P(), P(), P()),
        out_specs=P(),
    )
    loss, (dw, dhead) = jax.value_and_grad(run, argnums=(0, 1))(w, head, x, y)
    return loss, dw, dhead


# what: a device that a ppermute doesn't name ends with zeros in the sum as well, because it receives zeros.
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["stage"]

    def local(g):
        other = lax.ppermute(g, "stage", [(0, n - 1), (n - 1, 0)])
        return g + other

    cut = P("stage")
    return jax.shard_map(local, mesh=mesh, in_specs=cut, out_specs=cut)(g)


# what: with several parts on each stage, messages still go only between neighbouring stages; nothing goes from the last stage round to the first.
def bytes_across(
    hosts: list[int], chunks: int, microbatches: int, message: int
) -> list[list[int]]:
    count = max(hosts) + 1
    sent = [[0] * count for _ in range(count)]
    for here, there in zip(hosts, hosts[1:]):
        if here != there:
            sent[here][there] += chunks * microbatches * message
            sent[there][here] += chunks * microbatches * message
    return sent
