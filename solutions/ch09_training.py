"""ch09_training, solved."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    def step(params, x, y):
        key = jax.random.fold_in(jax.random.key(seed), lax.axis_index("data"))

        def mean_loss(p):
            return lax.pmean(loss(p, x, y, key), "data")

        value, gradient = jax.value_and_grad(mean_loss)(params)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), value

    specs = (P(), P("data"), P("data"))
    return jax.shard_map(step, mesh=mesh, in_specs=specs, out_specs=P())(
        params, x, y
    )


def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n, specs = mesh.size, dict.fromkeys(params, P())
    held = sum(w.nbytes for w in params.values())
    for name in sorted(params, key=lambda k: -params[k].nbytes):
        if held <= limit:
            break
        w = params[name]
        fits = [i for i, size in enumerate(w.shape) if size % n == 0]
        if fits:
            specs[name] = P(*[None] * fits[0], "data")
            held -= w.nbytes - w.nbytes // n
    places = {name: NamedSharding(mesh, spec) for name, spec in specs.items()}
    return jax.device_put(params, places)


def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    def block(x, gate, up, down, bias):
        mine = (jax.nn.silu(x @ gate) * (x @ up)) @ down
        return x + lax.psum(mine, "model") + bias

    columns, rows = P(None, "model"), P("model")
    specs = (P("data"), columns, columns, rows, P())
    return jax.shard_map(block, mesh=mesh, in_specs=specs, out_specs=P("data"))(
        x, gate, up, down, bias
    )


def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    def device(params, *batches):
        params = lax.pcast(params, "data", to="varying")  # no psum in grad
        one = jax.grad(lambda p, x, y, m: jnp.sum(losses(p, x, y) * m))

        def add(total, batch):
            return jax.tree.map(jnp.add, total, one(params, *batch)), None

        zeros = jax.tree.map(jnp.zeros_like, params)
        mine, _ = lax.scan(add, zeros, batches)
        total, rows = lax.psum((mine, batches[2].sum()), "data")
        return jax.tree.map(lambda g: g / rows, total)

    cut = P(None, "data")
    specs = {"in_specs": (P(), cut, cut, cut), "out_specs": P()}
    return jax.shard_map(device, mesh=mesh, **specs)(params, x, y, real)


def two_steps_in_one_memory(
    update: Callable, state: dict[str, jax.Array], batch: jax.Array
) -> tuple[dict[str, jax.Array], int]:
    layout = jax.tree.map(lambda array: array.sharding, state)
    donating = jax.jit(update, donate_argnums=0, out_shardings=layout)
    step = donating.lower(state, batch).compile()
    memory = step.memory_analysis()
    assert memory is not None
    return step(step(state, batch), batch), memory.alias_size_in_bytes


def fsdp_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    n, cut = mesh.size, P("data")
    specs = {k: cut if len(w) % n == 0 else P() for k, w in params.items()}

    def whole(name, w):
        if specs[name] == cut:
            return lax.all_gather(w, "data", tiled=True)
        return w

    def step(params, x, y):
        def mean_loss(p):
            p = {name: whole(name, w) for name, w in p.items()}
            return lax.pmean(loss(p, x, y), "data")

        value, gradient = jax.value_and_grad(mean_loss)(params)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradient), value

    places = {"in_specs": (specs, cut, cut), "out_specs": (specs, P())}
    return jax.shard_map(step, mesh=mesh, **places)(params, x, y)


def through_stages(
    layer: Callable, weights: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    n, parts = mesh.size, len(x)

    def device(w, x):
        me, to_next = (
            lax.axis_index("stage"),
            [(i, i + 1) for i in range(n - 1)],
        )

        def tick(received, t):
            first = x[jnp.minimum(t, parts - 1)]
            out = layer(w[0], jnp.where(me == 0, first, received))
            return lax.ppermute(out, "stage", to_next), out

        nothing = lax.pcast(jnp.zeros_like(x[0]), "stage", to="varying")
        _, outs = lax.scan(tick, nothing, jnp.arange(parts + n - 1))
        # the last stage finishes its first microbatch in turn n - 1
        return lax.psum(jnp.where(me == n - 1, outs[n - 1 :], 0), "stage")

    specs = {"in_specs": (P("stage"), P()), "out_specs": P()}
    return jax.shard_map(device, mesh=mesh, **specs)(weights, x)
