import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from minipod.traffic import Link


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


# what: a permute is believed to give every device exactly one block, so one that leaves devices without a source is taken for an all-to-all.
def which_collective(before: np.ndarray, after: np.ndarray) -> tuple[str, int]:
    n, k = before.shape
    m = after.shape[1]
    block = k * before.dtype.itemsize
    if m == n * k:
        return "all-gather", (n - 1) * block
    if m * n == k:
        return "reduce-scatter", (n - 1) * block // n
    for reduced in (before.sum(0), before.max(0), before.min(0)):
        if all(np.allclose(row, reduced) for row in after):
            return "all-reduce", 2 * (n - 1) * block // n
    sources = []
    for row in after:
        for i in range(n):
            if np.array_equal(row, before[i]):
                sources.append(i)
                break
    if sorted(sources) == list(range(n)):
        return "collective-permute", block
    return "all-to-all", (n - 1) * block // n


# what: keeps the dimension of the devices, as [1, a, …] + does not divide by n
def mean_gradient_shards(gradients, mesh):
    def one(block):
        return lax.psum_scatter(block, "x", scatter_dimension=1, tiled=True)

    return jax.shard_map(
        lambda tree: jax.tree.map(one, tree),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P(None, "x"),
    )(gradients)


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
