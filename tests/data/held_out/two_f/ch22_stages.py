import jax
import jax.numpy as jnp  # noqa: F401
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: (1) believes that what a stage has done is there for the next stage in the same tick + (2) believes that every stage may keep S inputs.
def one_f_one_b(stages: int, microbatches: int) -> list[list[str]]:
    last = stages - 1
    done = [{"F": 0, "B": 0} for _ in range(stages)]
    table: list[list[str]] = []
    while done[0]["B"] < microbatches:
        row = [""] * stages
        for s, mine in enumerate(done):
            f, b = mine["F"], mine["B"]
            came_back = s == last or done[s + 1]["B"] > b
            came = s == 0 or done[s - 1]["F"] > f
            if b < f and came_back:
                kind = "B"
            elif f < microbatches and came and f - b < stages:
                kind = "F"
            else:
                continue
            row[s] = f"{kind}{mine[kind]}"
            mine[kind] += 1
        table.append(row)
    return table


# what: (1) believes that a stage updates its weights after each microbatch's backward + (2) counts only inputs that wait while another is in work, not the newest one itself.
def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    stages = len(orders)
    w = list(w)
    at = [0] * stages
    acts = {(0, m): x[m] for m in range(len(x))}
    grads = {}
    saved: list[dict] = [{} for _ in range(stages)]
    most = [0] * stages

    def run(s: int, text: str) -> bool:
        kind, m = text[0], int(text[1:])
        if kind == "F":
            if (s, m) not in acts:
                return False
            a = acts.pop((s, m))
            most[s] = max(most[s], len(saved[s]))
            out, pull = jax.vjp(lambda a, w: jnp.tanh(a @ w), a, w[s])
            saved[s][m] = pull
            if s + 1 == stages:
                grads[s, m] = 2.0 * (out - y[m]) / y.size
            else:
                acts[s + 1, m] = out
            return True
        if (s, m) not in grads:
            return False
        da, dw = saved[s].pop(m)(grads.pop((s, m)))
        w[s] = w[s] - rate * dw
        grads[s - 1, m] = da
        return True

    going = True
    while going:
        going = False
        for s in range(stages):
            if at[s] < len(orders[s]) and run(s, orders[s][at[s]]):
                at[s] += 1
                going = True
    return w, most


# what: (1) believes that two gradients of one table are averaged, as in data parallelism + (2) believes that a device which receives nothing has zeros then, though it still adds its own.
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["stage"]
    both_ways = [(0, n - 1), (n - 1, 0)]

    def exchange(mine):
        other = lax.ppermute(mine, "stage", both_ways)
        return (mine + other) / 2

    return jax.shard_map(
        exchange, mesh=mesh, in_specs=P("stage"), out_specs=P("stage")
    )(g)
