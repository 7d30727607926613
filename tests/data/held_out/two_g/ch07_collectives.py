import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from minipod.traffic import Link


# what: (1) after the adding round device i is believed to hold the finished piece i + (2) in the second round the arriving sums are added to what is there instead of replacing it.
def ring_all_reduce(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    to_next = [(i, (i + 1) % n) for i in range(n)]

    def local(row):
        me = lax.axis_index("x")
        chunks = jnp.reshape(row, (n, row.shape[1] // n))

        def go_round(step, chunks):
            out = lax.dynamic_index_in_dim(
                chunks, (me - step) % n, axis=0, keepdims=False
            )
            arrived = lax.ppermute(out, "x", perm=to_next)
            return chunks.at[(me - step - 1) % n].add(arrived)

        for _ in ("add up", "hand out"):
            for step in range(n - 1):
                chunks = go_round(step, chunks)
        return chunks.reshape(1, -1)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("x"),), out_specs=P("x")
    )(x)


# what: (1) the sorting is undone with the same order instead of its inverse + (2) out_specs is believed to bring the results home, so there is no second all-to-all.
def to_experts(
    tokens: jax.Array, expert: jax.Array, weights: jax.Array, mesh: Mesh
) -> jax.Array:
    def on_device(mine, wanted, matrix):
        order = jnp.argsort(wanted)
        sent = lax.all_to_all(mine[order], "x", 0, 0, tiled=True)
        results = jnp.einsum("td,dh->th", sent, jnp.squeeze(matrix, 0))
        return results[order]

    return jax.shard_map(
        on_device, mesh=mesh, in_specs=P("x"), out_specs=P("x")
    )(tokens, expert, weights)


# what: (1) the latency of the link is left out, only bytes are believed to count + (2) the weights are believed to be spread over all devices, so that w.nbytes / devices has to fit instead of w.nbytes / model.
def fastest_mesh(
    w: jax.Array,
    x: jax.Array,
    sums: int,
    room: int,
    devices: list,
    link: Link,
) -> tuple[jax.Array, jax.Array]:
    total = len(devices)
    best = None
    for data in range(1, total + 1):
        if total % data:
            continue
        model = total // data
        if w.nbytes / (data * model) > room:
            continue
        gradient = 2 * (w.nbytes / model) * (data - 1) / data
        activation = 2 * (x.nbytes / data) * (model - 1) / model
        seconds = (gradient + sums * activation) / link.bytes_per_second
        if best is None or seconds < best[0]:
            best = (seconds, data, model)
    _, data, model = best
    grid = np.asarray(devices).reshape(data, model)
    mesh = Mesh(grid, axis_names=("data", "model"))
    weights = jax.device_put(w, NamedSharding(mesh, P(None, "model")))
    activations = jax.device_put(x, NamedSharding(mesh, P("data")))
    return weights, activations
