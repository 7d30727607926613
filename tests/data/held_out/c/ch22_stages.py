import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: this answer believes the gradients of the microbatches' own means simply add up to the gradient of the mean over all (M times too large)
def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    n = len(w)
    inbox = [{} for _ in range(n)]
    for m in range(x.shape[0]):
        inbox[0][m] = x[m]
    errors = [{} for _ in range(n)]
    kept = [{} for _ in range(n)]
    most = [0] * n
    at = [0] * n
    grads = [jnp.zeros_like(k) for k in w]

    def layer(k, a):
        return jnp.tanh(a @ k)

    def loss(out, target):
        return jnp.mean((out - target) ** 2)

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
                    errors[s][m] = jax.grad(loss)(out, y[m])
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


# what: this answer believes scan keeps only its carry for the backward, so no checkpoint is needed
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

            def tick(a, t):
                a = jnp.where(i == 0, x[jnp.minimum(t, count - 1)], a)
                out = a + jnp.tanh(a @ up) @ down
                m = t - (n - 1)
                err = jnp.mean((out @ head - y[jnp.maximum(m, 0)]) ** 2)
                err = jnp.where((i == n - 1) & (m >= 0), err, 0.0)
                return lax.ppermute(out, "stage", ring), err

            _, losses = lax.scan(tick, jnp.zeros_like(x[0]), jnp.arange(count + n - 1))
            return losses.sum() / count

        loss, (gw, gh) = jax.value_and_grad(loss_here, argnums=(0, 1))(w, head)
        return lax.psum(loss, "stage"), gw, lax.psum(gh, "stage")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("stage"), P(), P(), P()),
        out_specs=(P(), P("stage"), P()),
        check_vma=False,
    )(w, head, x, y)


# what: this answer believes a permute reaches only the neighbouring stage, so both tables travel hop by hop, n - 1 permutes each way
def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["stage"]
    down = [(s, s - 1) for s in range(1, n)]
    up = [(s, s + 1) for s in range(n - 1)]

    def local(g):
        i = lax.axis_index("stage")
        from_last = g
        from_first = g
        for _ in range(n - 1):
            from_last = lax.ppermute(from_last, "stage", down)
            from_first = lax.ppermute(from_first, "stage", up)
        out = jnp.where(i == 0, g + from_last, 0.0)
        return jnp.where(i == n - 1, g + from_first, out)

    return jax.shard_map(local, mesh=mesh, in_specs=P("stage"), out_specs=P("stage"))(g)


# what: this answer believes a stage's chunks are consecutive parts, so a microbatch crosses each boundary of stages only once
def bytes_across(
    hosts: list[int], chunks: int, microbatches: int, message: int
) -> list[list[int]]:
    number = max(hosts) + 1
    sent = [[0] * number for _ in range(number)]
    stages = len(hosts)
    for p in range(stages * chunks - 1):
        i, j = hosts[p // chunks], hosts[(p + 1) // chunks]
        if i != j:
            sent[i][j] += microbatches * message
            sent[j][i] += microbatches * message
    return sent
