import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# style: two counters for each stage, read as they were before the tick
def one_f_one_b(stages: int, microbatches: int) -> list[list[str]]:
    fwd = [0] * stages
    bwd = [0] * stages
    rows = []
    while bwd[0] < microbatches:
        f, b = list(fwd), list(bwd)
        row = []
        for s in range(stages):
            can_b = b[s] < f[s] and (s == stages - 1 or b[s] < b[s + 1])
            can_f = (
                f[s] < microbatches
                and (s == 0 or f[s] < f[s - 1])
                and f[s] - b[s] < stages - s
            )
            if can_b:
                row.append(f"B{b[s]}")
                bwd[s] += 1
            elif can_f:
                row.append(f"F{f[s]}")
                fwd[s] += 1
            else:
                row.append("")
        rows.append(row)
    return rows


# style: a dict of what a stage holds, and a search for the lowest slot not in it
def slots(rows: list[list[str]]) -> list[list[int]]:
    stages = len(rows[0]) if rows else 0
    out = []
    for s in range(stages):
        held = {}
        where = {}
        for row in rows:
            op = row[s]
            if op.startswith("F"):
                slot = 0
                while slot in held.values():
                    slot += 1
                held[int(op[1:])] = slot
                where[int(op[1:])] = slot
            elif op.startswith("B"):
                del held[int(op[1:])]
        out.append([where[m] for m in sorted(where)])
    return out


# style: keeps the inputs, and takes the vjp of the layer anew in the backward
def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    n = len(w)
    inbox = [{} for _ in range(n)]
    inbox[0] = {m: x[m] for m in range(x.shape[0])}
    errors = [{} for _ in range(n)]
    kept = [{} for _ in range(n)]
    most = [0] * n
    at = [0] * n
    grads = [jnp.zeros_like(k) for k in w]

    def layer(k, a):
        return jnp.tanh(a @ k)

    while any(at[s] < len(orders[s]) for s in range(n)):
        moved = False
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
                grads[s] = grads[s] + gw
                if s > 0:
                    errors[s - 1][m] = ga
            at[s] += 1
            moved = True
        if not moved:
            raise ValueError("the orders wait for each other")
    return [k - rate * g for k, g in zip(w, grads)], most


def _varying(a):
    if hasattr(lax, "pcast"):
        return lax.pcast(a, "stage", to="varying")
    return lax.pvary(a, "stage")


# style: value_and_grad around shard_map; head is made varying once before the scan, which turns round into one all-reduce
def pipelined(
    w: dict[str, jax.Array],
    head: jax.Array,
    x: jax.Array,
    y: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, dict[str, jax.Array], jax.Array]:
    n = mesh.shape["stage"]
    count = x.shape[0]
    ring = [(s, (s + 1) % n) for s in range(n)]

    def local(w, head, x, y):
        i = lax.axis_index("stage")
        up, down = w["up"][0], w["down"][0]
        head = _varying(head)

        @jax.checkpoint
        def work(a, up, down, head, t):
            a = jnp.where(i == 0, x[jnp.minimum(t, count - 1)], a)
            out = a + jnp.tanh(a @ up) @ down
            m = t - (n - 1)
            err = jnp.mean((out @ head - y[jnp.maximum(m, 0)]) ** 2)
            return out, jnp.where((i == n - 1) & (m >= 0), err, 0.0)

        def tick(a, t):
            out, err = work(a, up, down, head, t)
            return lax.ppermute(out, "stage", ring), err

        start = _varying(jnp.zeros_like(x[0]))
        _, losses = lax.scan(tick, start, jnp.arange(count + n - 1))
        return lax.psum(losses.sum(), "stage") / count

    f = jax.shard_map(
        local, mesh=mesh, in_specs=(P("stage"), P(), P(), P()), out_specs=P()
    )
    loss, (gw, gh) = jax.value_and_grad(f, argnums=(0, 1))(w, head, x, y)
    return loss, gw, gh


# style: one permute that swaps the two ends
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["stage"]

    def local(g):
        other = lax.ppermute(g, "stage", [(0, n - 1), (n - 1, 0)])
        i = lax.axis_index("stage")
        return jnp.where((i == 0) | (i == n - 1), g + other, 0.0)

    return jax.shard_map(local, mesh=mesh, in_specs=P("stage"), out_specs=P("stage"))(g)


# style: a loop over the boundaries of parts
def bytes_across(
    hosts: list[int], chunks: int, microbatches: int, message: int
) -> list[list[int]]:
    number = max(hosts) + 1
    sent = [[0] * number for _ in range(number)]
    stages = len(hosts)
    for p in range(stages * chunks - 1):
        i, j = hosts[p % stages], hosts[(p + 1) % stages]
        if i != j:
            sent[i][j] += microbatches * message
            sent[j][i] += microbatches * message
    return sent
