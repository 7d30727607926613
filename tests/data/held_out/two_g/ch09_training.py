from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
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


# what: (1) believes that training needs the new state whole on every device, and loses its layout + (2) believes that an array's nbytes is what one device holds.
def two_steps_in_one_memory(
    update: Callable, state: dict[str, jax.Array], batch: jax.Array
) -> tuple[dict[str, jax.Array], int]:
    mesh = batch.sharding.mesh
    shared = sum(int(a.nbytes) for a in state.values())
    step = jax.jit(
        update, donate_argnums=(0,), out_shardings=NamedSharding(mesh, P())
    )
    first = step(state, batch)
    second = step(first, batch)
    return second, shared


# what: (1) believes that the last stage finishes microbatch t in turn t, without the turns it takes to fill the pipeline + (2) brings the results home with a mean over the stages, though only one of them holds results.
def through_stages(
    layer: Callable, weights: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["stage"]

    def on_device(own, batch):
        w = own[0]
        me = lax.axis_index("stage")
        pairs = [(i, (i + 1) % n) for i in range(n)]

        def turn(held, fresh):
            given = jnp.where(me == 0, fresh, held)
            made = layer(w, given)
            return lax.ppermute(made, "stage", pairs), made

        _, made = lax.scan(turn, jnp.zeros_like(batch[0]), batch)
        results = jnp.where(me == n - 1, made, 0.0)
        return lax.pmean(results, "stage")

    return jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=(P("stage"), P()),
        out_specs=P(),
        check_vma=False,
    )(weights, x)
