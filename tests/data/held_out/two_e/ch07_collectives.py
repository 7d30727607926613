import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401

from minipod.traffic import Link


# what: (1) a ring all-reduce is believed to pass whole rows n - 1 times, not pieces + (2) each device is believed to have to pass on what it has added up so far, so numbers are counted several times.
def ring_all_reduce(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    ring = [(i, (i + 1) % n) for i in range(n)]

    def local(row):
        total = row
        for _ in range(n - 1):
            total = total + lax.ppermute(total, "x", ring)
        return total

    return jax.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


# what: (1) out_specs is believed to bring the results back to the devices of their tokens, so nothing is sent back + (2) sorting is believed to be undone by the same order once more.
def to_experts(
    tokens: jax.Array, expert: jax.Array, weights: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["x"]

    def local(mine, numbers, w):
        order = jnp.argsort(numbers)
        ready = mine[order].reshape(n, -1, mine.shape[1])
        there = lax.all_to_all(ready, "x", split_axis=0, concat_axis=0)
        done = there.reshape(mine.shape) @ w[0]
        return done[order]

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("x", None), P("x"), P("x", None, None)),
        out_specs=P("x", None),
    )(tokens, expert, weights)


# what: (1) w is believed to be shared out over all devices of the mesh when asking whether it fits + (2) time is believed to be bytes over bandwidth alone, without the latency.
def fastest_mesh(
    w: jax.Array,
    x: jax.Array,
    sums: int,
    room: int,
    devices: list,
    link: Link,
) -> tuple[jax.Array, jax.Array]:
    count = len(devices)
    times = {}
    for model in range(1, count + 1):
        if count % model:
            continue
        data = count // model
        if w.nbytes / (data * model) > room:
            continue
        sent = 2 * (w.nbytes / model) * (data - 1) / data
        sent += sums * 2 * (x.nbytes / data) * (model - 1) / model
        times[model] = sent / link.bytes_per_second
    model = min(times, key=times.get)
    grid = np.array(devices).reshape(count // model, model)
    mesh = Mesh(grid, ("data", "model"))
    weights = jax.device_put(w, NamedSharding(mesh, P(None, "model")))
    activations = jax.device_put(x, NamedSharding(mesh, P("data", None)))
    return weights, activations
