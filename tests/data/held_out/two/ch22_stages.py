import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: this answer believes (1) an output can be used by the next stage in the same tick and (2) backward-first alone makes 1F1B, with no limit on the inputs kept
def one_f_one_b(stages: int, microbatches: int) -> list[list[str]]:
    fwd = [0] * stages
    bwd = [0] * stages
    rows = []
    while bwd[0] < microbatches:
        row = []
        for s in range(stages):
            if bwd[s] < fwd[s] and (s == stages - 1 or bwd[s] < bwd[s + 1]):
                row.append(f"B{bwd[s]}")
                bwd[s] += 1
            elif fwd[s] < microbatches and (s == 0 or fwd[s] < fwd[s - 1]):
                row.append(f"F{fwd[s]}")
                fwd[s] += 1
            else:
                row.append("")
        rows.append(row)
    return rows


# what: this answer believes (1) a slot is free once the next stage has done its forward and (2) the number of inputs held is the next free slot
def slots(rows: list[list[str]]) -> list[list[int]]:
    stages = len(rows[0])
    out = []
    for s in range(stages):
        held = set()
        where = []
        for row in rows:
            if row[s].startswith("F"):
                where.append(len(held))
                held.add(int(row[s][1:]))
            for m in list(held):
                over = row[s] == f"B{m}" if s == stages - 1 else row[s + 1] == f"F{m}"
                if over:
                    held.remove(m)
        out.append(where)
    return out


# what: this answer believes (1) the inputs stay until the end of the step, so every stage keeps all it ever got, and (2) the gradients of the microbatches' own means add up to that of the mean over all
def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    n = len(w)
    inputs = [{} for _ in range(n)]
    outputs = [{} for _ in range(n)]
    errors = [{} for _ in range(n)]
    grads = [jnp.zeros_like(k) for k in w]
    todo = [list(o) for o in orders]

    def layer(k, a):
        return jnp.tanh(a @ k)

    while any(todo):
        for s in range(n):
            if not todo[s]:
                continue
            kind, m = todo[s][0][0], int(todo[s][0][1:])
            if kind == "F":
                if s > 0 and m not in outputs[s - 1]:
                    continue
                inputs[s][m] = x[m] if s == 0 else outputs[s - 1][m]
                outputs[s][m] = layer(w[s], inputs[s][m])
                if s == n - 1:
                    diff = outputs[s][m] - y[m]
                    errors[s][m] = 2 * diff / diff.size
            else:
                if m not in errors[s]:
                    continue
                _, back = jax.vjp(layer, w[s], inputs[s][m])
                gw, ga = back(errors[s][m])
                grads[s] = grads[s] + gw
                if s > 0:
                    errors[s - 1][m] = ga
            todo[s].pop(0)
    return [k - rate * g for k, g in zip(w, grads)], [len(i) for i in inputs]


# what: this answer believes (1) copies of head have to agree, so their gradients are averaged (pmean), and (2) the permute may stand inside the checkpointed tick
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

        def loss_here(w, head):
            up, down = w["up"][0], w["down"][0]

            @jax.checkpoint
            def tick(sent, up, down, head, t):
                a = lax.ppermute(sent, "stage", ring)
                a = jnp.where(i == 0, x[jnp.minimum(t, count - 1)], a)
                out = a + jnp.tanh(a @ up) @ down
                m = t - (n - 1)
                err = jnp.mean((out @ head - y[jnp.maximum(m, 0)]) ** 2)
                return out, jnp.where((i == n - 1) & (m >= 0), err, 0.0)

            _, losses = lax.scan(
                lambda sent, t: tick(sent, up, down, head, t),
                jnp.zeros_like(x[0]),
                jnp.arange(count + n - 1),
            )
            return losses.sum() / count

        loss, (gw, gh) = jax.value_and_grad(loss_here, argnums=(0, 1))(w, head)
        return lax.psum(loss, "stage"), gw, lax.pmean(gh, "stage")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("stage"), P(), P(), P()),
        out_specs=(P(), P("stage"), P()),
        check_vma=False,
    )(w, head, x, y)


# what: this answer believes (1) one needs all tables at hand to add two of them (all-gather) and (2) every device shall have the sum, the middle ones too
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    def local(g):
        tables = lax.all_gather(g, "stage", axis=0, tiled=True)
        return tables[:1] + tables[-1:]

    return jax.shard_map(local, mesh=mesh, in_specs=P("stage"), out_specs=P("stage"))(g)


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
