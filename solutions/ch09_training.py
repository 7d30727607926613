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
