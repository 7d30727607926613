from collections.abc import Callable, Mapping
from itertools import cycle

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: believes that the arrays of a dict come out of jax.tree.leaves in the order of insertion, so the layouts are dealt out in the order of params.values() (the leaves come sorted by name).
def state_like(
    optimizer: optax.GradientTransformation, params: dict, mesh: Mesh
) -> list:
    state = optimizer.init(params)
    belongs = optax.tree_utils.tree_map_params(
        optimizer,
        lambda _: True,
        state,
        transform_non_params=lambda _: False,
    )
    layouts = cycle([array.sharding for array in params.values()])
    everywhere = NamedSharding(mesh, P())
    placed = []
    for leaf, mine in zip(jax.tree.leaves(state), jax.tree.leaves(belongs)):
        target = next(layouts) if mine else everywhere
        placed.append(jax.device_put(leaf, target))
    return placed


# what: believes that in ZeRO-2 the new weights have to be gathered after every microbatch, as often as the gradients are scattered.
def zero_bytes(
    parameters: int, n: int, stage: str, parts: int
) -> Mapping[str, int]:
    whole = 4 * parameters
    piece = whole // n
    lap = piece * (n - 1)  # one reduce-scatter or one all-gather

    held = {
        "DP": 3 * whole,
        "ZeRO-1": whole + 2 * piece,
        "ZeRO-2": whole + 2 * piece,
        "ZeRO-3": 3 * piece,
    }
    laps = {
        "DP": 2,
        "ZeRO-1": 2,
        "ZeRO-2": 2 * parts,
        "ZeRO-3": 3 * parts,
    }
    return {"held": held[stage], "sent": laps[stage] * lap}


# what: believes that the squares of the devices' own gradients, added over the devices, are the square of the norm of their sum (the norm is taken before the reduce-scatter).
def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    n = mesh.shape["data"]
    d = w.shape[0]
    piece = d // n
    count = y.shape[0] * y.shape[1]

    def local_loss(weights, rows, wanted):
        return jnp.sum((rows @ weights - wanted) ** 2) / count

    def one_device(weights, m, rows, wanted):
        own = jax.grad(local_loss)(weights, rows, wanted)
        norm = jnp.sqrt(lax.psum(jnp.sum(own * own), "data"))
        g = lax.psum_scatter(own, "data", scatter_dimension=0, tiled=True)
        g = g * jnp.where(norm > limit, limit / norm, 1.0)
        m = 0.9 * m + g
        first = lax.axis_index("data") * piece
        mine = lax.dynamic_slice_in_dim(weights, first, piece, 0)
        mine = mine - 0.1 * m
        return lax.all_gather(mine, "data", axis=0, tiled=True), m

    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(P(), P("data"), P("data"), P("data")),
        out_specs=(P(), P("data")),
        check_vma=False,
    )(w, momentum, x, y)


# what: believes that the gradient of the sum of all microbatches' losses is added up in f32 if only the result is cast (the cotangents of a bf16 w are added in bf16).
def summed_in_f32(
    loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    def total(rounded, batches):
        def add(so_far, rows):
            return so_far + loss(rounded, rows).astype(jnp.float32), None

        return lax.scan(add, jnp.float32(0), batches)[0]

    def one_device(master, batches):
        rounded = master.astype(jnp.bfloat16)
        own = jax.grad(total)(rounded, batches)
        return lax.psum(own.astype(jnp.float32), "data")

    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(P(), P(None, "data")),
        out_specs=P(),
        check_vma=False,
    )(w, x)


# what: believes that a checkpoint around the whole loop keeps only the named arrays of each layer, also during the backward pass (then the large arrays of all layers are there at once).
def keep_by_name(
    layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    policy = jax.checkpoint_policies.save_only_these_names("features")

    def through(weights, rows):
        def one(a, row):
            return layer(a, row), None

        last, _ = lax.scan(one, rows, weights)
        return jnp.sum(last**2)

    kept = jax.checkpoint(through, policy=policy)

    def one_device(weights, rows):
        return lax.psum(jax.grad(kept)(weights, rows), "data")

    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(P(), P("data")),
        out_specs=P(),
        check_vma=False,
    )(w, x)
