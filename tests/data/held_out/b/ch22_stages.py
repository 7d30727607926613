import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


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


# what: this answer believes the input a stage is just working on is not among those it keeps, only those that wait beside it
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
        for s in range(n):
            if at[s] == len(orders[s]):
                continue
            op = orders[s][at[s]]
            m = int(op[1:])
            if op[0] == "F":
                if m not in inbox[s]:
                    continue
                most[s] = max(most[s], len(kept[s]))
                a = inbox[s].pop(m)
                out = layer(w[s], a)
                kept[s][m] = a
                if s + 1 < n:
                    inbox[s + 1][m] = out
                else:
                    errors[s][m] = 2 * (out - y[m]) / y.size
            else:
                if m not in errors[s]:
                    continue
                a = kept[s].pop(m)
                most[s] = max(most[s], len(kept[s]))
                _, back = jax.vjp(layer, w[s], a)
                gw, ga = back(errors[s].pop(m))
                grads[s] = grads[s] + gw
                if s > 0:
                    errors[s - 1][m] = ga
            at[s] += 1
    return [k - rate * g for k, g in zip(w, grads)], most


def _varying(a):
    if hasattr(lax, "pcast"):
        return lax.pcast(a, "stage", to="varying")
    return lax.pvary(a, "stage")


# what: this answer believes the gradient of a replicated head is added up once over the devices, wherever head is used; used as it is inside the tick, it is all-reduced in every tick
def pipelined(
    w: dict[str, jax.Array],
    head: jax.Array,
    x: jax.Array,
    y: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, dict[str, jax.Array], jax.Array]:
    n = mesh.shape["stage"]
    count = x.shape[0]
    chain = [(s, (s + 1) % n) for s in range(n)]

    def local(w, head, x, y):
        i = lax.axis_index("stage")
        up, down = w["up"][0], w["down"][0]

        @jax.checkpoint
        def work(a, up, down, head, t):
            a = jnp.where(i == 0, x[jnp.minimum(t, count - 1)], a)
            out = a + jnp.tanh(a @ up) @ down
            m = t - (n - 1)
            err = jnp.mean((out @ head - y[jnp.maximum(m, 0)]) ** 2)
            return out, jnp.where((i == n - 1) & (m >= 0), err, 0.0)

        def tick(a, t):
            out, err = work(a, up, down, head, t)
            return lax.ppermute(out, "stage", chain), err

        start = _varying(jnp.zeros_like(x[0]))
        _, losses = lax.scan(tick, start, jnp.arange(count + n - 1))
        return lax.psum(losses.sum(), "stage") / count

    f = jax.shard_map(
        local, mesh=mesh, in_specs=(P("stage"), P(), P(), P()), out_specs=P()
    )
    loss, (gw, gh) = jax.value_and_grad(f, argnums=(0, 1))(w, head, x, y)
    return loss, gw, gh


# what: this answer believes a sum of two devices' arrays is an all-reduce, with zeros put in by the others
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["stage"]

    def local(g):
        i = lax.axis_index("stage")
        ends = (i == 0) | (i == n - 1)
        total = lax.psum(jnp.where(ends, g, 0.0), "stage")
        return jnp.where(ends, total, 0.0)

    return jax.shard_map(local, mesh=mesh, in_specs=P("stage"), out_specs=P("stage"))(g)


# what: this answer believes sent[i][j] holds all that goes over the link from i to j, the gradient coming back included, under the direction of the forward
def bytes_across(
    hosts: list[int], chunks: int, microbatches: int, message: int
) -> list[list[int]]:
    number = max(hosts) + 1
    sent = [[0] * number for _ in range(number)]
    stages = len(hosts)
    for p in range(stages * chunks - 1):
        i, j = hosts[p % stages], hosts[(p + 1) % stages]
        if i != j:
            sent[i][j] += 2 * microbatches * message
    return sent
