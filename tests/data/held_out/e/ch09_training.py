from collections.abc import Callable

import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: the gradient inside of shard_map is believed to be the device's own; it has been added up over the devices already, so the average of it is n times too large.
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
        key = jax.random.fold_in(jax.random.key(seed), lax.axis_index("data"))
        value, grads = jax.value_and_grad(loss)(params, x, y, key)
        value = lax.pmean(value, "data")
        grads = lax.pmean(grads, "data")
        return jax.tree.map(lambda p, g: p - rate * g, params, grads), value

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P("data", None), P("data", None)),
        out_specs=(P(), P()),
    )(params, x, y)


# what: the array with the most elements is believed to be the largest, although its dtype may make it smaller in bytes.
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.size
    held = sum(a.nbytes for a in params.values())
    specs = {name: P() for name in params}
    for name in sorted(params, key=lambda k: params[k].size, reverse=True):
        if held <= limit:
            break
        a = params[name]
        for dim, length in enumerate(a.shape):
            if length % n == 0:
                specs[name] = P(*[None] * dim, "data")
                held -= a.nbytes - a.nbytes // n
                break
    return {
        name: jax.device_put(a, NamedSharding(mesh, specs[name]))
        for name, a in params.items()
    }


# what: the residual x is believed to be a share of the sum like the product, so it goes through the all-reduce and comes out once per device along "model".
def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    def local(x, gate, up, down, bias):
        h = jax.nn.silu(x @ gate) * (x @ up)
        return lax.psum(x + h @ down, "model") + bias

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(
            P("data", None),
            P(None, "model"),
            P(None, "model"),
            P("model", None),
            P(),
        ),
        out_specs=P("data", None),
    )(x, gate, up, down, bias)


# what: the gradient of the big batch is believed to be the plain average of the gradients of the (non-empty) microbatches of all devices, whatever their numbers of real rows.
def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    def mean_loss(params, x, y, real):
        count = jnp.maximum(jnp.sum(real), 1.0)
        return jnp.sum(losses(params, x, y) * real) / count

    def local(params, x, y, real):
        def body(carry, part):
            total, filled = carry
            grads = jax.grad(mean_loss)(params, *part)
            total = jax.tree.map(jnp.add, total, grads)
            filled = filled + (jnp.sum(part[2]) > 0).astype(jnp.float32)
            return (total, filled), None

        start = jax.tree.map(jnp.zeros_like, params), jnp.float32(0)
        (total, filled), _ = lax.scan(body, start, (x, y, real))
        total, filled = lax.psum((total, filled), "data")
        return jax.tree.map(lambda g: g / filled, total)

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(
            P(), P(None, "data", None), P(None, "data", None), P(None, "data")
        ),
        out_specs=P(),
        check_vma=False,
    )(params, x, y, real)


# what: the memory analysis is believed to speak of the whole program on all devices, so its bytes are divided by their number.
def two_steps_in_one_memory(
    update: Callable, state: dict[str, jax.Array], batch: jax.Array
) -> tuple[dict[str, jax.Array], int]:
    layouts = jax.tree.map(lambda a: a.sharding, state)
    step = jax.jit(update, donate_argnums=0, out_shardings=layouts)
    program = step.lower(state, batch).compile()
    shared = program.memory_analysis().alias_size_in_bytes
    for _ in range(2):
        state = program(state, batch)
    return state, shared // len(batch.sharding.device_set)


# what: the reduce-scatter that comes back from an all-gather is believed to average, so the gradients of the cut arrays are never divided by n.
def fsdp_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    n = mesh.size
    is_cut = jax.tree.map(lambda p: p.ndim > 0 and p.shape[0] % n == 0, params)
    specs = jax.tree.map(lambda cut: P("data") if cut else P(), is_cut)

    def local(params, x, y):
        def whole_loss(params):
            whole = jax.tree.map(
                lambda p, cut: lax.all_gather(p, "data", tiled=True) if cut else p,
                params,
                is_cut,
            )
            return loss(whole, x, y)

        value, grads = jax.value_and_grad(whole_loss)(params)
        grads = jax.tree.map(
            lambda g, cut: g if cut else lax.pmean(g, "data"), grads, is_cut
        )
        new = jax.tree.map(lambda p, g: p - rate * g, params, grads)
        return new, lax.pmean(value, "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(specs, P("data", None), P("data", None)),
        out_specs=(specs, P()),
        check_vma=False,
    )(params, x, y)


# what: multiplying by zero is believed to silence the other devices' results, but NaN times zero is NaN.
def through_stages(
    layer: Callable, weights: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.size
    parts = x.shape[0]
    onward = [(i, i + 1) for i in range(n - 1)]

    def local(w, x):
        me = lax.axis_index("stage")
        first = (me == 0).astype(x.dtype)
        arrived = jnp.zeros_like(x[0])
        results = jnp.zeros_like(x)
        for turn in range(parts + n - 1):
            fresh = x[turn] if turn < parts else jnp.zeros_like(x[0])
            h = jnp.where(first > 0, fresh, arrived)
            h = layer(w[0], h)
            if turn >= n - 1:
                results = results.at[turn - (n - 1)].set(h)
            arrived = lax.ppermute(h, "stage", onward)
        last = (me == n - 1).astype(x.dtype)
        return lax.psum(results * last, "stage")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("stage", None, None), P()),
        out_specs=P(),
        check_vma=False,
    )(weights, x)
