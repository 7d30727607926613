from collections.abc import Callable

import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: (1) uses the same key on every device, since the rows differ anyway + (2) returns the loss with the new params, not the one that was differentiated.
def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    key = jax.random.key(seed)

    def device(params, rows, targets):
        def mean_over_devices(p):
            return lax.pmean(loss(p, rows, targets, key), "data")

        slopes = jax.grad(mean_over_devices)(params)
        stepped = jax.tree.map(lambda p, g: p - rate * g, params, slopes)
        return stepped, mean_over_devices(stepped)

    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data")),
        out_specs=(P(), P()),
    )(params, x, y)


# what: (1) adds the bias before the all-reduce, once for each device along "model" + (2) thinks that a gate is a sigmoid between 0 and 1, as in an LSTM, not silu.
def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    def share(x, gate, up, down, bias):
        openness = jax.nn.sigmoid(x @ gate)
        partial = (openness * (x @ up)) @ down + bias
        return x + lax.psum(partial, axis_name="model")

    run = jax.shard_map(
        share,
        mesh=mesh,
        in_specs=(
            P("data", None),
            P(None, "model"),
            P(None, "model"),
            P("model", None),
            P(),
        ),
        out_specs=P("data", None),
    )
    return run(x, gate, up, down, bias)


# what: (1) thinks that donating alone makes the new state lie as the old one does, so it gives no out_shardings + (2) divides the shared bytes by the number of devices, though the analysis is for one device already.
def two_steps_in_one_memory(
    update: Callable, state: dict[str, jax.Array], batch: jax.Array
) -> tuple[dict[str, jax.Array], int]:
    step = jax.jit(update, donate_argnums=0)
    analysis = step.lower(state, batch).compile().memory_analysis()
    devices = len(batch.sharding.device_set)
    shared = analysis.alias_size_in_bytes // devices
    once = step(state, batch)
    twice = step(once, batch)
    return twice, int(shared)


# what: (1) counts parts + n - 2 turns, one too few for the last microbatch to come through + (2) blanks what is no result by multiplying by zero, which keeps NaN.
def through_stages(
    layer: Callable, weights: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["stage"]
    parts = x.shape[0]
    chain = [(k, k + 1) for k in range(n - 1)]

    def device(w, x):
        i = lax.axis_index("stage")
        held = lax.pcast(jnp.zeros_like(x[0]), "stage", to="varying")
        finished = lax.pcast(jnp.zeros_like(x), "stage", to="varying")
        is_last = jnp.where(i == n - 1, 1.0, 0.0)
        for turn in range(parts + n - 2):
            entering = x[turn] if turn < parts else jnp.zeros_like(x[0])
            made = layer(w[0], jnp.where(i == 0, entering, held))
            if turn >= n - 1:
                finished = finished.at[turn - (n - 1)].set(made * is_last)
            held = lax.ppermute(made, "stage", chain)
        return lax.psum(finished, "stage")

    return jax.shard_map(
        device, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P()
    )(weights, x)
