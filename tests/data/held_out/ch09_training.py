import jax
import jax.numpy as jnp
from collections.abc import Callable
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


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
