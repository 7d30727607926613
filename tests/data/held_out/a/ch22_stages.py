import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: this answer believes every stage may keep as many inputs as the pipeline is deep (S), the same limit on all stages
def one_f_one_b(stages: int, microbatches: int) -> list[list[str]]:
    fwd = [0] * stages
    bwd = [0] * stages
    rows = []
    while bwd[0] < microbatches:
        f, b = list(fwd), list(bwd)
        row = []
        for s in range(stages):
            can_b = b[s] < f[s] and (s == stages - 1 or b[s] < b[s + 1])
            can_f = f[s] < microbatches and (s == 0 or f[s] < f[s - 1])
            if can_b:
                row.append(f"B{b[s]}")
                bwd[s] += 1
            elif can_f and f[s] - b[s] < stages:
                row.append(f"F{f[s]}")
                fwd[s] += 1
            else:
                row.append("")
        rows.append(row)
    return rows


# what: this answer believes the buffer is a ring of S slots on every stage, so microbatch m always lies in slot m mod S
def slots(rows: list[list[str]]) -> list[list[int]]:
    stages = len(rows[0])
    out = []
    for s in range(stages):
        ms = sorted(int(row[s][1:]) for row in rows if row[s].startswith("F"))
        out.append([m % stages for m in ms])
    return out


# what: this answer believes a stage takes its step with each backward at once, so later microbatches meet the new weights
def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
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


# what: this answer believes that multiplying by 0 clears whatever the middle devices hold (NaN and inf stay)
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["stage"]

    def local(g):
        other = lax.ppermute(g, "stage", [(0, n - 1), (n - 1, 0)])
        i = lax.axis_index("stage")
        mask = ((i == 0) | (i == n - 1)).astype(g.dtype)
        return (g + other) * mask

    return jax.shard_map(local, mesh=mesh, in_specs=P("stage"), out_specs=P("stage"))(g)


# what: this answer believes the stages are a closed ring, so the last stage sends to the first after every chunk, the last one too
def bytes_across(
    hosts: list[int], chunks: int, microbatches: int, message: int
) -> list[list[int]]:
    number = max(hosts) + 1
    sent = [[0] * number for _ in range(number)]
    stages = len(hosts)
    for _ in range(chunks):
        for s in range(stages):
            i, j = hosts[s], hosts[(s + 1) % stages]
            if i != j:
                sent[i][j] += microbatches * message
                sent[j][i] += microbatches * message
    return sent
