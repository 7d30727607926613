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
