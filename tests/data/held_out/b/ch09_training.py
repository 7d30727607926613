from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: Turns check_vma off, and with it the gradients' sum over the devices.
def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    def local(params, x, y):
        key = jax.random.key(seed)
        key = jax.random.fold_in(key, lax.axis_index("data"))

        def mean_loss(p):
            return lax.pmean(loss(p, x, y, key), "data")

        value, grads = jax.value_and_grad(mean_loss)(params)
        new = jax.tree.map(lambda p, g: p - rate * g, params, grads)
        return new, value

    f = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data")),
        out_specs=P(),
        check_vma=False,
    )
    return f(params, x, y)


# what: Cuts along the largest dimension that divides, not along the first.
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.shape["data"]
    held = sum(a.nbytes for a in params.values())
    placed = {}
    for name, a in sorted(params.items(), key=lambda item: -item[1].nbytes):
        fits = [i for i, size in enumerate(a.shape) if size % n == 0]
        spec = P()
        if held > limit and fits:
            axis = max(fits, key=lambda i: a.shape[i])
            spec = P(*[None] * axis, "data")
            held -= a.nbytes - a.nbytes // n
        placed[name] = jax.device_put(a, NamedSharding(mesh, spec))
    return placed


# what: Gathers hidden units and down before the product: no all-reduce at all.
def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    hidden = jax.nn.silu(x @ gate) * (x @ up)
    hidden = jax.reshard(hidden, NamedSharding(mesh, P("data", None)))
    down = jax.reshard(down, NamedSharding(mesh, P(None, None)))
    return x + hidden @ down + bias


# what: Leaves params invariant, so each microbatch's gradient is all-reduced.
def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    def local(params, x, y, real):
        def total(p, x, y, r):
            return jnp.sum(losses(p, x, y) * r)

        def add(grads, batch):
            g = jax.grad(total)(params, *batch)
            return jax.tree.map(jnp.add, grads, g), None

        zeros = jax.tree.map(jnp.zeros_like, params)
        grads, _ = lax.scan(add, zeros, (x, y, real))
        count = lax.psum(jnp.sum(real), "data")
        return jax.tree.map(lambda g: g / count, grads)

    rows = P(None, "data")
    ins = (P(), rows, rows, rows)
    f = jax.shard_map(local, mesh=mesh, in_specs=ins, out_specs=P())
    return f(params, x, y, real)


# what: donates a copy, to leave the caller's state usable
def two_steps_in_one_memory(update, state, batch):
    layout = {name: array.sharding for name, array in state.items()}
    step = jax.jit(update, donate_argnums=0, out_shardings=layout)
    compiled = step.lower(state, batch).compile()
    state = jax.tree.map(jnp.copy, state)
    for _ in range(2):
        state = compiled(state, batch)
    return state, compiled.memory_analysis().alias_size_in_bytes
