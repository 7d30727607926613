import jax
import jax.numpy as jnp
from jax import P
from jax import lax
from jax.sharding import Mesh


# what: believes that a stage may change its weights at once after each backward, by 1/M of the step, so that later microbatches see other weights.
def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    S, M = len(w), x.shape[0]
    weights = list(w)
    outs: list[dict] = [{} for _ in range(S)]
    grads: list[dict] = [{} for _ in range(S)]
    pulls: list[dict] = [{} for _ in range(S)]
    most = [0] * S
    at = [0] * S

    def layer(a, matrix):
        return jnp.tanh(a @ matrix)

    while any(at[s] < len(orders[s]) for s in range(S)):
        for s in range(S):
            if at[s] == len(orders[s]):
                continue
            text = orders[s][at[s]]
            m = int(text[1:])
            if text[0] == "F":
                if s and m not in outs[s - 1]:
                    continue
                a = outs[s - 1][m] if s else x[m]
                outs[s][m], pulls[s][m] = jax.vjp(layer, a, weights[s])
                most[s] = max(most[s], len(pulls[s]))
            else:
                if s == S - 1:
                    out = outs[s][m]
                    back = 2 * (out - y[m]) / out.size
                elif m in grads[s + 1]:
                    back = grads[s + 1][m]
                else:
                    continue
                grads[s][m], by_w = pulls[s].pop(m)(back)
                weights[s] = weights[s] - rate / M * by_w
            at[s] += 1
    return weights, most


# what: believes that without types (check_vma=False) the gradient of the psum of the loss is simply the gradient (psum is transposed to psum, so that all of it comes out n times).
def pipelined(
    w: dict[str, jax.Array],
    head: jax.Array,
    x: jax.Array,
    y: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, dict[str, jax.Array], jax.Array]:
    n = mesh.shape["stage"]
    M = x.shape[0]
    ring = [(i, (i + 1) % n) for i in range(n)]

    def one_device(w, head, x, y):
        stage = lax.axis_index("stage")

        def total(w, head):
            @jax.checkpoint
            def compute(came, t):
                first = x[jnp.clip(t, 0, M - 1)]
                a = jnp.where(stage == 0, first, came)
                a = a + jnp.tanh(a @ w["up"][0]) @ w["down"][0]
                m = t - (n - 1)
                loss = jnp.mean((a @ head - y[jnp.clip(m, 0, M - 1)]) ** 2)
                counts = (stage == n - 1) & (m >= 0)
                return a, jnp.where(counts, loss, 0.0)

            def tick(came, t):
                a, loss = compute(came, t)
                return lax.ppermute(a, "stage", ring), loss

            _, losses = lax.scan(tick, jnp.zeros_like(x[0]), jnp.arange(M + n - 1))
            return lax.psum(losses.sum() / M, "stage")

        loss, (by_w, by_head) = jax.value_and_grad(total, argnums=(0, 1))(w, head)
        return loss, by_w, lax.psum(by_head, "stage")

    cut = {"up": P("stage"), "down": P("stage")}
    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(cut, P(), P(), P()),
        out_specs=(P(), cut, P()),
        check_vma=False,
    )(w, head, x, y)


# what: believes that the first device has to add the sum that the last one sends back to its own gradient (which is in this sum already).
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["stage"]

    def one_device(mine):
        stage = lax.axis_index("stage")
        is_end = (stage == 0) | (stage == n - 1)
        mine = jnp.where(is_end, mine, 0.0)
        mine = mine + lax.ppermute(mine, "stage", [(0, n - 1)])
        mine = mine + lax.ppermute(mine, "stage", [(n - 1, 0)])
        return mine

    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=P("stage"),
        out_specs=P("stage"),
        check_vma=False,
    )(g)


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


# what: this answer believes one program on all devices means that a microbatch has the same slot on every stage, that of stage 0
def slots(rows: list[list[str]]) -> list[list[int]]:
    held = {}
    where = []
    for row in rows:
        op = row[0]
        if op.startswith("F"):
            slot = 0
            while slot in held.values():
                slot += 1
            held[int(op[1:])] = slot
            where.append(slot)
        elif op.startswith("B"):
            del held[int(op[1:])]
    return [list(where) for _ in rows[0]]


# what: this answer believes (1) the last stage sends to the first after every chunk, the last one too, and (2) the gradient coming back counts under the direction of the forward
def bytes_across(
    hosts: list[int], chunks: int, microbatches: int, message: int
) -> list[list[int]]:
    number = max(hosts) + 1
    sent = [[0] * number for _ in range(number)]
    for here, there in zip(hosts, hosts[1:] + hosts[:1]):
        if here != there:
            sent[here][there] += 2 * chunks * microbatches * message
    return sent
