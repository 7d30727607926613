import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: this answer believes the step is over with the last stage's last backward, so the gradients' way back to stage 0 is missing
def one_f_one_b(stages: int, microbatches: int) -> list[list[str]]:
    fwd = [0] * stages
    bwd = [0] * stages
    rows = []
    last = stages - 1
    while bwd[last] < microbatches:
        f, b = tuple(fwd), tuple(bwd)
        row = [""] * stages
        for s in range(stages):
            if b[s] < f[s] and (s == last or b[s] < b[s + 1]):
                row[s] = f"B{b[s]}"
                bwd[s] += 1
            elif (
                f[s] < microbatches
                and (s == 0 or f[s] < f[s - 1])
                and f[s] - b[s] < stages - s
            ):
                row[s] = f"F{f[s]}"
                fwd[s] += 1
        rows.append(row)
    return rows


# what: this answer believes a slot stays taken until the previous stage has used the gradient too, a tick or more after the stage's own backward
def slots(rows: list[list[str]]) -> list[list[int]]:
    stages = len(rows[0])
    out = []
    for s in range(stages):
        held = {}
        where = {}
        for row in rows:
            if row[s].startswith("F"):
                m = int(row[s][1:])
                slot = 0
                while slot in held.values():
                    slot += 1
                held[m] = slot
                where[m] = slot
            signal = row[max(s - 1, 0)]
            if signal.startswith("B"):
                del held[int(signal[1:])]
        out.append([where[m] for m in sorted(where)])
    return out


# what: this answer believes an input is kept from the moment the neighbour sends it, not from the stage's own forward
def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    n = len(w)
    inbox = [{} for _ in range(n)]
    errors = [{} for _ in range(n)]
    kept = [{} for _ in range(n)]
    most = [0] * n
    at = [0] * n
    grads = [jnp.zeros_like(k) for k in w]

    def layer(k, a):
        return jnp.tanh(a @ k)

    def note(s):
        most[s] = max(most[s], len(inbox[s]) + len(kept[s]))

    while any(at[s] < len(orders[s]) for s in range(n)):
        for s in range(n):
            if at[s] == len(orders[s]):
                continue
            op = orders[s][at[s]]
            m = int(op[1:])
            if op[0] == "F":
                if s > 0 and m not in inbox[s]:
                    continue
                a = x[m] if s == 0 else inbox[s].pop(m)
                kept[s][m] = a
                note(s)
                out = layer(w[s], a)
                if s + 1 < n:
                    inbox[s + 1][m] = out
                    note(s + 1)
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
    return [k - rate * g for k, g in zip(w, grads)], most


# what: this answer believes the loss must be psum-ed before it is differentiated on each device; without vma checks psum turns round into psum, and all gradients are n times too large
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

        @jax.checkpoint
        def work(a, up, down, head, t):
            a = jnp.where(i == 0, x[jnp.minimum(t, count - 1)], a)
            out = a + jnp.tanh(a @ up) @ down
            m = t - (n - 1)
            err = jnp.mean((out @ head - y[jnp.maximum(m, 0)]) ** 2)
            return out, jnp.where((i == n - 1) & (m >= 0), err, 0.0)

        def whole_loss(w, head):
            up, down = w["up"][0], w["down"][0]

            def tick(a, t):
                out, err = work(a, up, down, head, t)
                return lax.ppermute(out, "stage", ring), err

            _, losses = lax.scan(tick, jnp.zeros_like(x[0]), jnp.arange(count + n - 1))
            return lax.psum(losses.sum(), "stage") / count

        loss, (gw, gh) = jax.value_and_grad(whole_loss, argnums=(0, 1))(w, head)
        return loss, gw, lax.psum(gh, "stage")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("stage"), P(), P(), P()),
        out_specs=(P(), P("stage"), P()),
        check_vma=False,
    )(w, head, x, y)


# what: this answer believes a permute leaves zeros on the devices that do not take part, so the middle ones need nothing more (they keep their own g)
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["stage"]

    def local(g):
        return g + lax.ppermute(g, "stage", [(0, n - 1), (n - 1, 0)])

    return jax.shard_map(local, mesh=mesh, in_specs=P("stage"), out_specs=P("stage"))(g)


# what: this answer believes that parts v times smaller also have activations v times smaller, so each boundary carries message / v
def bytes_across(
    hosts: list[int], chunks: int, microbatches: int, message: int
) -> list[list[int]]:
    number = max(hosts) + 1
    sent = [[0] * number for _ in range(number)]
    stages = len(hosts)
    each = microbatches * message // chunks
    for p in range(stages * chunks - 1):
        i, j = hosts[p % stages], hosts[(p + 1) % stages]
        if i != j:
            sent[i][j] += each
            sent[j][i] += each
    return sent
