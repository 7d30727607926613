import jax
import jax.numpy as jnp  # noqa: F401
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: believes that S - s inputs may wait besides the one that is in work, and lets each stage go one forward further.
def one_f_one_b(stages: int, microbatches: int) -> list[list[str]]:
    forward, backward = [0] * stages, [0] * stages
    table = []
    while backward[0] < microbatches:
        f, b = list(forward), list(backward)  # as it was before this tick
        row = []
        for s in range(stages):
            may_back = b[s] < f[s] and (s == stages - 1 or b[s + 1] > b[s])
            has_next = f[s] < microbatches and (s == 0 or f[s - 1] > f[s])
            waiting = f[s] - b[s]
            if may_back:
                row.append(f"B{b[s]}")
                backward[s] += 1
            elif has_next and waiting <= stages - s:
                row.append(f"F{f[s]}")
                forward[s] += 1
            else:
                row.append("")
        table.append(row)
    return table


# what: believes that a buffer of as many slots as are kept at most is always filled in a ring, microbatch m in slot m mod that number.
def slots(rows: list[list[str]]) -> list[list[int]]:
    out = []
    for column in zip(*rows):
        kept = most = seen = 0
        for text in column:
            if text.startswith("F"):
                kept += 1
                seen += 1
                most = max(most, kept)
            elif text.startswith("B"):
                kept -= 1
        out.append([m % most for m in range(seen)])
    return out


# what: believes that a stage may update its weights in its last backward before it computes what it passes to the stage before it.
def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    last = len(w) - 1
    now = list(w)
    total = [jnp.zeros_like(a) for a in w]
    ahead = [dict() for _ in w]
    behind = [dict() for _ in w]
    kept = [dict() for _ in w]
    most = [0] * len(w)
    left = [sum(t[0] == "B" for t in order) for order in orders]
    todo = [list(order) for order in orders]
    ahead[0] = {m: x[m] for m in range(x.shape[0])}

    def forward(s, m):
        a = ahead[s].pop(m)
        out = jnp.tanh(a @ now[s])
        kept[s][m] = (a, out)
        most[s] = max(most[s], len(kept[s]))
        if s < last:
            ahead[s + 1][m] = out
        else:
            behind[s][m] = 2 * (out - y[m]) / y.size

    def backward(s, m):
        a, out = kept[s].pop(m)
        inner = behind[s].pop(m) * (1 - out**2)
        total[s] = total[s] + a.T @ inner
        left[s] -= 1
        if left[s] == 0:
            now[s] = now[s] - rate * total[s]
        if s > 0:
            behind[s - 1][m] = inner @ now[s].T

    moved = True
    while moved:
        moved = False
        for s, order in enumerate(todo):
            if not order:
                continue
            kind, m = order[0][0], int(order[0][1:])
            if m in (ahead if kind == "F" else behind)[s]:
                (forward if kind == "F" else backward)(s, m)
                order.pop(0)
                moved = True
    return now, most


# what: believes that the gradient of head, a copy on every device, still has to be summed by hand; with types it has been summed already.
def pipelined(
    w: dict[str, jax.Array],
    head: jax.Array,
    x: jax.Array,
    y: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, dict[str, jax.Array], jax.Array]:
    n = mesh.shape["stage"]
    many = x.shape[0]
    on = [(i, i + 1) for i in range(n - 1)]

    def varying(a):
        return lax.pcast(a, "stage", to="varying")

    def local(w, head, x, y):
        me = lax.axis_index("stage")

        def loss(w, head):
            up, down = w["up"][0], w["down"][0]
            top = varying(head)

            @jax.checkpoint
            def tick(carry, t):
                came, total = carry
                a = jnp.where(me == 0, x[jnp.minimum(t, many - 1)], came)
                a = a + jnp.tanh(a @ up) @ down
                m = t - (n - 1)
                off = a @ top - y[jnp.maximum(m, 0)]
                counts = (me == n - 1) & (m >= 0)
                total = total + jnp.where(counts, jnp.mean(off**2), 0.0)
                return (lax.ppermute(a, "stage", on), total), None

            begin = varying(jnp.zeros_like(x[0])), varying(jnp.zeros(()))
            (_, total), _ = lax.scan(tick, begin, jnp.arange(many + n - 1))
            return lax.psum(total, "stage") / many

        value, (dw, dhead) = jax.value_and_grad(loss, argnums=(0, 1))(w, head)
        return value, dw, lax.psum(dhead, "stage")

    cut = {"up": P("stage"), "down": P("stage")}
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(cut, P(), P(), P()),
        out_specs=(P(), cut, P()),
    )(w, head, x, y)


# what: lets the last add first and send the sum back, and adds that sum to what the first has already: its own gradient counts twice there.
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["stage"]

    def local(g):
        me = lax.axis_index("stage")
        on_last = g + lax.ppermute(g, "stage", [(0, n - 1)])
        on_first = g + lax.ppermute(on_last, "stage", [(n - 1, 0)])
        out = jnp.where(me == n - 1, on_last, jnp.zeros_like(g))
        return jnp.where(me == 0, on_first, out)

    return jax.shard_map(
        local, mesh=mesh, in_specs=P("stage"), out_specs=P("stage")
    )(g)


# what: believes that the stages form a closed ring, so that after each chunk, also after the last, there is a way from the last stage to the first.
def bytes_across(
    hosts: list[int], chunks: int, microbatches: int, message: int
) -> list[list[int]]:
    count = max(hosts) + 1
    sent = [[0] * count for _ in range(count)]
    stages = len(hosts)
    each = chunks * microbatches * message
    for s in range(stages):
        here, there = hosts[s], hosts[(s + 1) % stages]
        if here != there:
            sent[here][there] += each  # activations
            sent[there][here] += each  # gradients
    return sent
