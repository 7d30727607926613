import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: (1) every stage may keep S inputs + (2) what the stage before does in a tick is there for the next stage in the same tick.
def one_f_one_b(stages: int, microbatches: int) -> list[list[str]]:
    done_f = [0] * stages
    done_b = [0] * stages
    table = []
    while done_b[0] < microbatches:
        back_before = list(done_b)
        row = []
        for s in range(stages):
            m = done_b[s]
            last = s == stages - 1
            if m < done_f[s] and (last or back_before[s + 1] > m):
                done_b[s] += 1
                row.append(f"B{m}")
                continue
            m = done_f[s]
            ready = s == 0 or done_f[s - 1] > m
            if m < microbatches and ready and m - done_b[s] < stages:
                done_f[s] += 1
                row.append(f"F{m}")
            else:
                row.append("")
        table.append(row)
    return table


# what: (1) weights may be updated after every backward, it adds up to the same step + (2) each microbatch's gradient is that of its own mean, and the step takes their sum.
def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    S = len(orders)
    weights = list(w)
    position = [0] * S
    inputs = [{} for _ in range(S)]
    ready_f = [{} for _ in range(S)]
    ready_b = [{} for _ in range(S)]
    ready_f[0] = {m: x[m] for m in range(x.shape[0])}
    most = [0] * S

    progress = True
    while progress:
        progress = False
        for s in range(S):
            if position[s] == len(orders[s]):
                continue
            text = orders[s][position[s]]
            m = int(text[1:])
            if text.startswith("F"):
                if m not in ready_f[s]:
                    continue
                a = ready_f[s].pop(m)
                inputs[s][m] = a
                most[s] = max(most[s], len(inputs[s]))
                out = jnp.tanh(a @ weights[s])
                if s == S - 1:
                    ready_b[s][m] = 2 * (out - y[m]) / out.size
                else:
                    ready_f[s + 1][m] = out
            else:
                if m not in ready_b[s]:
                    continue
                a = inputs[s].pop(m)
                out = jnp.tanh(a @ weights[s])
                before = ready_b[s].pop(m) * (1 - out**2)
                if s > 0:
                    ready_b[s - 1][m] = before @ weights[s].T
                weights[s] = weights[s] - rate * (a.T @ before)
            position[s] += 1
            progress = True
    return weights, most


# what: (1) devices that the permute doesn't name end with zeros + (2) the gradient of a table that is used twice is the mean of its two gradients.
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    last = mesh.shape["stage"] - 1

    def local(g):
        swapped = lax.ppermute(g, "stage", perm=[(0, last), (last, 0)])
        return (g + swapped) / 2

    return jax.shard_map(
        local, mesh=mesh, in_specs=P("stage"), out_specs=P("stage")
    )(g)
