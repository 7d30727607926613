import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401

from minipod.traffic import Link


# what: after the first round each device is believed to hold the finished sum of the piece with its own number; in fact it is that of the next number.
def ring_all_reduce(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    ring = [(i, (i + 1) % n) for i in range(n)]

    def local(row):
        me = lax.axis_index("x")
        pieces = row.reshape(n, -1)
        for step in range(n - 1):
            piece = lax.dynamic_index_in_dim(pieces, (me - step) % n, 0)
            arrived = lax.ppermute(piece, "x", ring)
            place = (me - step - 1) % n
            old = lax.dynamic_index_in_dim(pieces, place, 0)
            pieces = lax.dynamic_update_index_in_dim(
                pieces, old + arrived, place, 0
            )
        for step in range(n - 1):
            piece = lax.dynamic_index_in_dim(pieces, (me - step) % n, 0)
            arrived = lax.ppermute(piece, "x", ring)
            place = (me - step - 1) % n
            pieces = lax.dynamic_update_index_in_dim(pieces, arrived, place, 0)
        return pieces.reshape(row.shape)

    return jax.shard_map(
        local, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False
    )(x)


# what: reduce-scatter is believed to deal the rows out in turn (row r to device r modulo n), where each device is to keep consecutive rows.
def mean_gradient_shards(
    gradients: dict[str, jax.Array], mesh: Mesh
) -> dict[str, jax.Array]:
    n = mesh.shape["x"]

    def local(tree):
        def reduce(g):
            g = g[0]
            dealt = g.reshape((g.shape[0] // n, n) + g.shape[1:])
            part = lax.psum_scatter(dealt, "x", scatter_dimension=1)
            return part / n

        return jax.tree.map(reduce, tree)

    return jax.shard_map(
        local, mesh=mesh, in_specs=P("x"), out_specs=P("x")
    )(gradients)


# what: sorting is believed to be undone by applying the same order once more, instead of the inverse order.
def to_experts(
    tokens: jax.Array, expert: jax.Array, weights: jax.Array, mesh: Mesh
) -> jax.Array:
    def local(mine, numbers, w):
        order = jnp.argsort(numbers)
        ready = mine[order]
        there = lax.all_to_all(ready, "x", 0, 0, tiled=True)
        done = there @ w[0]
        home = lax.all_to_all(done, "x", 0, 0, tiled=True)
        return home[order]

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("x", None), P("x"), P("x", None, None)),
        out_specs=P("x", None),
    )(tokens, expert, weights)


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


# what: the latency is believed to be paid on each hop of a ring, n - 1 times on the way, although all devices are on one switch.
def fastest_mesh(
    w: jax.Array,
    x: jax.Array,
    sums: int,
    room: int,
    devices: list,
    link: Link,
) -> tuple[jax.Array, jax.Array]:
    count = len(devices)

    def seconds(size, n):
        if n == 1:
            return 0.0
        moved = size * (n - 1) / n / link.bytes_per_second
        return 2 * max(moved, (n - 1) * link.latency)

    best, best_time = None, None
    for model in range(1, count + 1):
        if count % model or w.nbytes / model > room:
            continue
        data = count // model
        time = seconds(w.nbytes / model, data)
        time += sums * seconds(x.nbytes / data, model)
        if best_time is None or time < best_time:
            best, best_time = model, time
    grid = np.array(devices).reshape(count // best, best)
    mesh = Mesh(grid, ("data", "model"))
    return (
        jax.device_put(w, NamedSharding(mesh, P(None, "model"))),
        jax.device_put(x, NamedSharding(mesh, P("data", None))),
    )
