import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from minipod.traffic import Link


# what: After the adding round device i is believed to hold the finished piece i (it is piece i + 1), so the second round starts handing out an unfinished one.
def ring_all_reduce(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    ring = [(i, (i + 1) % n) for i in range(n)]

    def local(row):
        me = lax.axis_index("x")
        pieces = row.reshape(n, -1)
        for step in range(n - 1):
            arrived = lax.ppermute(pieces[(me - step) % n], "x", ring)
            pieces = pieces.at[(me - step - 1) % n].add(arrived)
        for step in range(n - 1):
            arrived = lax.ppermute(pieces[(me - step) % n], "x", ring)
            pieces = pieces.at[(me - step - 1) % n].set(arrived)
        return pieces.reshape(row.shape)

    return jax.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


# what: A reduce-scatter is believed to deal the rows out in turn (device i keeps rows i, i + n, …), so the pieces join up in the wrong order.
def mean_gradient_shards(
    gradients: dict[str, jax.Array], mesh: Mesh
) -> dict[str, jax.Array]:
    n = mesh.shape["x"]

    def one(gradient):
        g = gradient[0]
        dealt = g.reshape((g.shape[0] // n, n) + g.shape[1:])
        return lax.psum_scatter(dealt, "x", scatter_dimension=1) / n

    def local(tree):
        return {name: one(g) for name, g in tree.items()}

    return jax.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(
        gradients
    )


# what: A sorting is believed to be undone by applying the same order once more, not its inverse.
def to_experts(
    tokens: jax.Array, expert: jax.Array, weights: jax.Array, mesh: Mesh
) -> jax.Array:
    def exchange(t):
        return lax.all_to_all(t, "x", split_axis=0, concat_axis=0, tiled=True)

    def local(mine, number, matrix):
        order = jnp.argsort(number, stable=True)
        arrived = exchange(jnp.take(mine, order, axis=0))
        results = exchange(arrived @ matrix[0])
        return jnp.take(results, order, axis=0)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("x"), P("x"), P("x")), out_specs=P("x")
    )(tokens, expert, weights)


# what: In a collective-permute every device is believed to receive somebody's block, so a permute that leaves a device without a source (zeros) is not recognised.
def which_collective(before: np.ndarray, after: np.ndarray) -> tuple[str, int]:
    k, m = before.shape[1], after.shape[1]
    size = max(k, m) * before.dtype.itemsize
    if m > k:
        return "all-gather", size
    if m < k:
        return "reduce-scatter", size
    senders = {row.tobytes() for row in before}
    if all(row.tobytes() in senders for row in after):
        return "collective-permute", size
    if (after == after[:1]).all():
        return "all-reduce", size
    return "all-to-all", size


# what: An all-reduce over a single device is believed to cost the latency like any other, so meshes with an axis of size 1 look slower than they are.
def fastest_mesh(
    w: jax.Array,
    x: jax.Array,
    sums: int,
    room: int,
    devices: list,
    link: Link,
) -> tuple[jax.Array, jax.Array]:
    count = len(devices)

    def all_reduce(size, n):
        sent = size * (n - 1) / n
        return 2 * max(sent / link.bytes_per_second, link.latency)

    def step_time(model):
        data = count // model
        gradients = all_reduce(w.nbytes / model, data)
        return gradients + sums * all_reduce(x.nbytes / data, model)

    choices = [
        model
        for model in range(count, 0, -1)
        if count % model == 0 and w.nbytes // model <= room
    ]
    model = min(choices, key=step_time)
    grid = np.array(devices, dtype=object).reshape(count // model, model)
    mesh = Mesh(grid, ("data", "model"))
    return (
        jax.device_put(w, NamedSharding(mesh, P(None, "model"))),
        jax.device_put(x, NamedSharding(mesh, P("data", None))),
    )
