import itertools
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: this answer believes that the leaves of the state come in the order in which the dict of parameters was written (tree leaves are sorted by key)
def state_like(optimizer: optax.GradientTransformation, params: dict, mesh: Mesh) -> list:
    everywhere = NamedSharding(mesh, P())
    owners = itertools.cycle(params.values())
    placed = []
    for leaf in jax.tree.leaves(optimizer.init(params)):
        if leaf.ndim == 0:
            placed.append(jax.device_put(leaf, everywhere))
        else:
            placed.append(jax.device_put(leaf, next(owners).sharding))
    return placed


# what: this answer believes that ZeRO-1 sums its gradients with a whole all-reduce, and only then takes its part and gathers the weights
def zero_bytes(parameters: int, n: int, stage: str, parts: int) -> Mapping[str, int]:
    whole = 4 * parameters
    part = whole // n
    once = part * (n - 1)
    held = {
        "DP": 3 * whole,
        "ZeRO-1": whole + 2 * part,
        "ZeRO-2": whole + 2 * part,
        "ZeRO-3": 3 * part,
    }
    sent = {
        "DP": 2 * once,
        "ZeRO-1": 3 * once,
        "ZeRO-2": (parts + 1) * once,
        "ZeRO-3": 3 * parts * once,
    }
    return {"held": held[stage], "sent": sent[stage]}


# what: this answer believes that the sum of the devices' mean losses is the mean loss: it divides by the rows of one device
def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:

    def local(w, momentum, x, y):
        g = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
        g = lax.psum_scatter(g, "data", scatter_dimension=0, tiled=True)
        norm = jnp.sqrt(lax.psum(jnp.sum(g * g), "data"))
        g = g * jnp.where(norm > limit, limit / norm, 1.0)
        momentum = 0.9 * momentum + g
        rows = momentum.shape[0]
        start = lax.axis_index("data") * rows
        mine = lax.dynamic_slice_in_dim(w, start, rows, axis=0)
        mine = mine - 0.1 * momentum
        return lax.all_gather(mine, "data", axis=0, tiled=True), momentum

    cut = P("data", None)
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), cut, cut, cut),
        out_specs=(P(None, None), cut),
        check_vma=False,
    )(w, momentum, x, y)


# what: this answer believes that jax.grad in a shard_map sums over the devices for nothing and in f32 (w is the same everywhere, so it all-reduces each bf16 gradient)
def summed_in_f32(loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:

    def local(w, x):
        low = w.astype(jnp.bfloat16)
        total = jnp.zeros(w.shape, jnp.float32)
        for i in range(x.shape[0]):
            total = total + jax.grad(loss)(low, x[i]).astype(jnp.float32)
        return total

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P(None, "data", None)),
        out_specs=P(None, None),
    )(w, x)


# what: this answer believes that checkpoint_name alone keeps what has a name, and that nothing else is kept
def keep_by_name(layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh) -> jax.Array:

    def local(w, x):
        def loss(w):
            out, _ = lax.scan(lambda x, row: (layer(x, row), None), x, w)
            return jnp.sum(out**2)

        return lax.psum(jax.grad(loss)(w), "data")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(None, None), P("data", None)),
        out_specs=P(None, None),
        check_vma=False,
    )(w, x)
