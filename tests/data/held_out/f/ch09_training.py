from collections.abc import Callable

import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


# what: Differentiates the device's own loss and thinks that the gradient for copied params comes out of shard_map as the mean over the devices, while it is the sum.
def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    def per_device(params, rows, targets):
        key = jax.random.fold_in(jax.random.key(seed), lax.axis_index("data"))
        own, gradient = jax.value_and_grad(loss)(params, rows, targets, key)
        moved = {name: params[name] - rate * gradient[name] for name in params}
        return moved, lax.pmean(own, "data")

    return jax.shard_map(
        per_device,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data")),
        out_specs=(P(), P()),
    )(params, x, y)


# what: Orders the arrays by their number of elements, as if that were the order by bytes, whatever the dtypes.
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.shape["data"]

    def cut_spec(shape):
        for axis, length in enumerate(shape):
            if length % n == 0:
                return P(*([None] * axis), "data")
        return None

    held = sum(a.nbytes for a in params.values())
    specs = {name: P() for name in params}
    queue = sorted(params, key=lambda name: params[name].size, reverse=True)
    for name in queue:
        if held <= limit:
            break
        spec = cut_spec(params[name].shape)
        if spec is not None:
            specs[name] = spec
            held -= params[name].nbytes - params[name].nbytes // n
    return {
        name: jax.device_put(a, NamedSharding(mesh, specs[name]))
        for name, a in params.items()
    }


# what: Adds the residual x inside of the all-reduce, so it is counted once for each device along "model".
def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    def block(x, gate, up, down, bias):
        opened = jax.nn.silu(jnp.dot(x, gate))
        hidden = opened * jnp.dot(x, up)
        branch = x + jnp.dot(hidden, down)
        return lax.psum(branch, "model") + bias

    specs = (
        P("data", None),
        P(None, "model"),
        P(None, "model"),
        P("model", None),
        P(None),
    )
    return jax.shard_map(
        block, mesh=mesh, in_specs=specs, out_specs=P("data", None)
    )(x, gate, up, down, bias)


# what: Every device divides by its own number of real rows, and then the devices' means are averaged, as if all devices had equally many real rows.
def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    def weighed(params, rows, targets, counts):
        return jnp.sum(losses(params, rows, targets) * counts)

    def device(params, x, y, real):
        def add(carry, microbatch):
            step = jax.grad(weighed)(params, *microbatch)
            return jax.tree.map(jnp.add, carry, step), None

        zeros = jax.tree.map(jnp.zeros_like, params)
        sums, _ = lax.scan(add, zeros, (x, y, real))
        rows = jnp.maximum(jnp.sum(real), 1)
        return jax.tree.map(lambda g: lax.pmean(g / rows, "data"), sums)

    cut = P(None, "data")
    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P(), cut, cut, cut),
        out_specs=P(),
        check_vma=False,
    )(params, x, y, real)


# what: Reports the size of all arguments as the shared memory, although the batch, which is not donated, is among them.
def two_steps_in_one_memory(
    update: Callable, state: dict[str, jax.Array], batch: jax.Array
) -> tuple[dict[str, jax.Array], int]:
    layouts = {name: array.sharding for name, array in state.items()}
    jitted = jax.jit(update, donate_argnums=(0,), out_shardings=layouts)
    program = jitted.lower(state, batch).compile()
    report = program.memory_analysis()
    for _ in range(2):
        state = program(state, batch)
    return state, int(report.argument_size_in_bytes)


# what: Thinks that the reduce-scatter that the all-gather turns into has averaged already, so only the copied params' gradients are divided by the number of devices.
def fsdp_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    n = mesh.shape["data"]
    is_cut = {
        name: p.ndim > 0 and p.shape[0] % n == 0 for name, p in params.items()
    }
    layout = {name: P("data") if cut else P() for name, cut in is_cut.items()}

    def device(shards, rows, targets):
        def own_loss(shards):
            whole = {
                name: lax.all_gather(p, "data", axis=0, tiled=True)
                if is_cut[name]
                else p
                for name, p in shards.items()
            }
            return loss(whole, rows, targets)

        value, slope = jax.value_and_grad(own_loss)(shards)
        new = {}
        for name, p in shards.items():
            g = slope[name] if is_cut[name] else slope[name] / n
            new[name] = p - rate * g
        return new, lax.pmean(value, "data")

    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(layout, P("data"), P("data")),
        out_specs=(layout, P()),
    )(params, x, y)


# what: Blanks what is no result by multiplying by zero, which leaves NaN what was NaN, and the all-reduce carries it to everybody.
def through_stages(
    layer: Callable, weights: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["stage"]
    parts = x.shape[0]
    onward = [(i, i + 1) for i in range(n - 1)]

    def stage(weight, x):
        me = lax.axis_index("stage")
        w = weight[0]
        arrived = lax.pcast(jnp.zeros_like(x[0]), "stage", to="varying")
        results = lax.pcast(jnp.zeros_like(x), "stage", to="varying")
        for turn in range(parts + n - 1):
            fresh = x[turn] if turn < parts else jnp.zeros_like(x[0])
            done = layer(w, jnp.where(me == 0, fresh, arrived))
            slot = turn - (n - 1)
            if slot >= 0:
                last = (me == n - 1).astype(done.dtype)
                results = results.at[slot].set(done * last)
            arrived = lax.ppermute(done, "stage", onward)
        return lax.psum(results, "stage")

    return jax.shard_map(
        stage, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P()
    )(weights, x)
