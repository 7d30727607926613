import jax
import jax.numpy as jnp
import optax
from collections.abc import Callable
from collections.abc import Mapping
from itertools import cycle
from jax import lax
from jax.sharding import Mesh
from jax.sharding import NamedSharding
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


# what: without types, too, the gradient passes through a psum of the loss unchanged, so summing the loss over the devices before differentiating does no harm.
def keep_by_name(
    layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    keep = jax.checkpoint_policies.save_only_these_names("features")

    def local(w, x):
        kept = jax.checkpoint(layer, policy=keep, prevent_cse=False)

        def loss(w):
            last, _ = lax.scan(lambda a, wi: (kept(a, wi), None), x, w)
            return lax.psum(jnp.sum(last**2), "data")

        return lax.psum(jax.grad(loss)(w), "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P("data")),
        out_specs=P(),
        check_vma=False,
    )(w, x)
