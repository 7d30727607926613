from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: Believes that differentiating the pmean of the losses gives the averaged gradient with check_vma=False too, where each device really gets only the gradient of its own rows.
def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    def on_device(weights, xs, ys):
        key = jax.random.fold_in(jax.random.key(seed), lax.axis_index("data"))

        def average(w):
            return lax.pmean(loss(w, xs, ys, key), "data")

        value, slope = jax.value_and_grad(average)(weights)
        moved = jax.tree.map(lambda w, g: w - rate * g, weights, slope)
        return moved, value

    run = jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data")),
        out_specs=(P(), P()),
        check_vma=False,
    )
    return run(params, x, y)


# what: Believes that an array is cut along its longest dimension that divides, not along the first one.
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.size
    specs = {name: P() for name in params}
    held = sum(a.nbytes for a in params.values())
    queue = sorted(params, key=lambda name: -params[name].nbytes)
    for name in queue:
        if held <= limit:
            break
        shape = params[name].shape
        fitting = [i for i, s in enumerate(shape) if s % n == 0]
        if not fitting:
            continue
        best = max(fitting, key=lambda i: shape[i])
        specs[name] = P(*([None] * best), "data")
        held -= params[name].nbytes - params[name].nbytes // n
    return {
        name: jax.device_put(a, NamedSharding(mesh, specs[name]))
        for name, a in params.items()
    }


# what: Believes that the devices along "model" hold versions of the same result, which are to be averaged, and not parts of a sum.
def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    def block(rows, g, u, d, b):
        hidden = jax.nn.silu(rows @ g) * (rows @ u)
        back = lax.pmean(hidden @ d, "model")
        return rows + back + b

    return jax.shard_map(
        block,
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


# what: Divides by each device's own number of real rows and then averages over the devices, as if all devices had equally many real rows.
def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    def summed(w, xb, yb, keep):
        return jnp.sum(losses(w, xb, yb) * keep)

    def on_device(w, xs, ys, keeps):
        def one(acc, batch):
            g = jax.grad(summed)(w, *batch)
            return jax.tree.map(jnp.add, acc, g), None

        start = jax.tree.map(jnp.zeros_like, w)
        acc, _ = lax.scan(one, start, (xs, ys, keeps))
        count = jnp.maximum(jnp.sum(keeps), 1.0)
        return jax.tree.map(lambda g: lax.pmean(g / count, "data"), acc)

    cut = P(None, "data")
    return jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=(P(), cut, cut, cut),
        out_specs=P(),
        check_vma=False,
    )(params, x, y, real)


# what: Believes that all of the program's arguments share memory with its results, so reports the argument size, in which the batch is counted.
def two_steps_in_one_memory(
    update: Callable, state: dict[str, jax.Array], batch: jax.Array
) -> tuple[dict[str, jax.Array], int]:
    layouts = jax.tree.map(lambda a: a.sharding, state)
    program = (
        jax.jit(update, donate_argnums=(0,), out_shardings=layouts)
        .lower(state, batch)
        .compile()
    )
    shared = int(program.memory_analysis().argument_size_in_bytes)
    for _ in range(2):
        state = program(state, batch)
    return state, shared


# what: Believes that the transpose of all_gather averages the devices' gradients, where it sums them, so that the cut parameters move n times too far.
def fsdp_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    n = mesh.shape["data"]

    def is_cut(a):
        return a.ndim > 0 and a.shape[0] % n == 0

    cut = {name: is_cut(a) for name, a in params.items()}
    specs = {name: P("data") if c else P() for name, c in cut.items()}

    def on_device(mine, xs, ys):
        def local_loss(pieces):
            whole = {
                name: lax.all_gather(p, "data", axis=0, tiled=True) if cut[name] else p
                for name, p in pieces.items()
            }
            return loss(whole, xs, ys)

        value, grads = jax.value_and_grad(local_loss)(mine)
        # The cut ones have come back through the reduce-scatter already.
        ready = {
            name: g if cut[name] else lax.pmean(g, "data") for name, g in grads.items()
        }
        new = {name: mine[name] - rate * ready[name] for name in mine}
        return new, lax.pmean(value, "data")

    return jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=(specs, P("data"), P("data")),
        out_specs=(specs, P()),
        check_vma=False,
    )(params, x, y)


# what: Believes that multiplying by 0 takes away what the other stages hold, though 0 times NaN is NaN.
def through_stages(
    layer: Callable, weights: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["stage"]
    parts = x.shape[0]

    def on_device(w, xs):
        stage = lax.axis_index("stage")
        forward = [(i, i + 1) for i in range(n - 1)]

        def turn(t, carry):
            arrived, done = carry
            fresh = jnp.where(t < parts, xs[jnp.minimum(t, parts - 1)], 0.0)
            out = layer(w[0], jnp.where(stage == 0, fresh, arrived))
            slot = t - (n - 1)
            stored = done.at[jnp.maximum(slot, 0)].set(out)
            done = jnp.where(slot >= 0, stored, done)
            return lax.ppermute(out, "stage", forward), done

        begin = (jnp.zeros_like(xs[0]), jnp.zeros_like(xs))
        _, done = lax.fori_loop(0, parts + n - 1, turn, begin)
        is_last = (stage == n - 1).astype(done.dtype)
        return lax.psum(done * is_last, "stage")

    return jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=(P("stage"), P()),
        out_specs=P(),
        check_vma=False,
    )(weights, x)
