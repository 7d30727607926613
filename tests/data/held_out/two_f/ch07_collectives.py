import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401

from minipod.traffic import Link


# what: (1) thinks that after the first round device i has the finished piece i, while it is piece i + 1 + (2) divides by n, since an all-reduce of this kind "averages".
def ring_all_reduce(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    ring = [(k, (k + 1) % n) for k in range(n)]

    def local(row):
        chunks = jnp.reshape(row, (n, row.shape[-1] // n))
        i = lax.axis_index("x")
        for s in range(n - 1):
            sent = jnp.take(chunks, (i - s) % n, axis=0)
            came = lax.ppermute(sent, "x", ring)
            chunks = chunks.at[(i - s - 1) % n].add(came)
        for s in range(n - 1):
            sent = jnp.take(chunks, (i - s) % n, axis=0)
            came = lax.ppermute(sent, "x", ring)
            chunks = chunks.at[(i - s - 1) % n].set(came)
        return jnp.reshape(chunks / n, row.shape)

    run = jax.shard_map(local, mesh=mesh, in_specs=(P("x"),), out_specs=P("x"))
    return run(x)


# what: (1) thinks that an all-to-all deals the rows out in turn, so it lays the sorted tokens out with the expert as the second dimension + (2) thinks that the way back restores the original order, so the sorting is not undone.
def to_experts(
    tokens: jax.Array, expert: jax.Array, weights: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["x"]

    def exchange(grid):
        return lax.all_to_all(
            grid, "x", split_axis=1, concat_axis=1, tiled=True
        )

    def device(mine, whose, matrix):
        order = jnp.argsort(whose)
        each = mine.shape[0] // n
        grid = mine[order].reshape(each, n, mine.shape[1])
        visitors = exchange(grid)
        results = jnp.einsum("cnd,dh->cnh", visitors, matrix[0])
        return exchange(results).reshape(mine.shape[0], -1)

    return jax.shard_map(
        device,
        mesh=mesh,
        in_specs=(P("x"), P("x"), P("x")),
        out_specs=P("x"),
    )(tokens, expert, weights)


# what: (1) leaves the latency out, since only bytes count + (2) takes the gradients along "data" for as large as the whole w, though each device has only its columns.
def fastest_mesh(
    w: jax.Array,
    x: jax.Array,
    sums: int,
    room: int,
    devices: list,
    link: Link,
) -> tuple[jax.Array, jax.Array]:
    total = len(devices)
    best, best_time = None, float("inf")

    def ring_time(size, n):
        return 2 * size * (n - 1) / n / link.bytes_per_second

    for model in range(1, total + 1):
        if total % model or w.nbytes > room * model:
            continue
        data = total // model
        took = ring_time(w.nbytes, data)
        took += sums * ring_time(x.nbytes / data, model)
        if took < best_time:
            best, best_time = model, took

    grid = np.array(devices).reshape(total // best, best)
    mesh = Mesh(grid, ("data", "model"))
    weights = jax.device_put(w, NamedSharding(mesh, P(None, "model")))
    activations = jax.device_put(x, NamedSharding(mesh, P("data", None)))
    return weights, activations
