import jax
import jax.numpy as jnp
from collections.abc import Callable
from jax import lax
from jax.sharding import Mesh
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


# what: (1) believes that jax.process_index() tells the devices of a mesh apart, so all use one key + (2) believes that shard_map averages the gradient of the device's own loss by unvarying params over the devices, where it sums it, so that it is n times too large.
def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    def device_step(weights, rows, targets):
        key = jax.random.fold_in(jax.random.key(seed), jax.process_index())
        own, grads = jax.value_and_grad(loss)(weights, rows, targets, key)
        # Differentiating by what every device has alike has met the others already.
        updated = jax.tree.map(lambda w, g: w - rate * g, weights, grads)
        return updated, lax.pmean(own, "data")

    return jax.shard_map(
        device_step,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data")),
        out_specs=(P(), P()),
    )(params, x, y)


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


# what: (1) adds the bias to the part on each device, so that it is summed m times + (2) believes that an all-reduce has to go over all axes of the mesh, and so adds different rows.
def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    def part(rows, gate_part, up_part, down_part, offset):
        opened = jax.nn.silu(jnp.dot(rows, gate_part))
        hidden = opened * jnp.dot(rows, up_part)
        contribution = jnp.dot(hidden, down_part) + offset
        return rows + lax.psum(contribution, mesh.axis_names)

    columns, lines = P(None, "model"), P("model", None)
    whole = jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(P("data"), columns, columns, lines, P()),
        out_specs=P("data"),
    )
    return whole(x, gate, up, down, bias)


# what: Orders by elements, not bytes + always cuts the first, even if all fits.
def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    n = mesh.shape["data"]
    held = sum(a.nbytes for a in params.values())
    specs = dict.fromkeys(params, P())
    for name in sorted(params, key=lambda k: params[k].size, reverse=True):
        a = params[name]
        axis = next((i for i, s in enumerate(a.shape) if s % n == 0), None)
        if axis is not None:
            specs[name] = P(*[None] * axis, "data")
            held -= a.nbytes - a.nbytes // n
        if held <= limit:
            break
    return {name: jax.device_put(a, NamedSharding(mesh, specs[name])) for name, a in params.items()}
