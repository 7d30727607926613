import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401

from minipod.traffic import Link


# what: In the second round, too, a piece that arrives is added to the one there, because "all-reduce always adds", instead of replacing it.
def ring_all_reduce(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    to_the_right = [(k, (k + 1) % n) for k in range(n)]

    def one_device(row):
        pieces = row.reshape(n, -1)
        me = lax.axis_index("x")

        def pass_on(pieces, send, receive):
            out = lax.dynamic_index_in_dim(pieces, send % n, keepdims=False)
            arrived = lax.ppermute(out, "x", to_the_right)
            return pieces.at[receive % n].add(arrived)

        for step in range(n - 1):
            pieces = pass_on(pieces, me - step, me - step - 1)
        for step in range(n - 1):
            pieces = pass_on(pieces, me + 1 - step, me - step)
        return pieces.reshape(row.shape)

    return jax.shard_map(
        one_device, mesh=mesh, in_specs=P("x"), out_specs=P("x")
    )(x)


# what: Believes that a sharded first dimension is dealt out like cards (device i keeps rows i, i+n, i+2n, …) instead of in contiguous blocks.
def mean_gradient_shards(
    gradients: dict[str, jax.Array], mesh: Mesh
) -> dict[str, jax.Array]:
    n = mesh.shape["x"]

    def keep_mine(block):
        g = block[0]
        rest = g.shape[1:]
        dealt = g.reshape((g.shape[0] // n, n) + rest)
        part = lax.psum_scatter(dealt, "x", scatter_dimension=1, tiled=True)
        return part.reshape((g.shape[0] // n,) + rest) / n

    def local(tree):
        return jax.tree.map(keep_mine, tree)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("x"),), out_specs=P("x")
    )(gradients)


# what: Undoes the sorting by indexing with the same permutation once more, as if a permutation were its own inverse.
def to_experts(
    tokens: jax.Array, expert: jax.Array, weights: jax.Array, mesh: Mesh
) -> jax.Array:
    def travel(blocks):
        return lax.all_to_all(
            blocks, "x", split_axis=0, concat_axis=0, tiled=True
        )

    def device(mine, whose, matrix):
        by_expert = jnp.argsort(whose, stable=True)
        visitors = travel(jnp.take(mine, by_expert, axis=0))
        answers = visitors @ matrix[0]
        at_home = travel(answers)
        return jnp.take(at_home, by_expert, axis=0)

    spec = P("x")
    f = jax.shard_map(
        device, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec
    )
    return f(tokens, expert, weights)


# what: Thinks that an all-reduce is always a sum, so the largest or smallest on every device is taken for another collective.
def which_collective(before: np.ndarray, after: np.ndarray) -> tuple[str, int]:
    n, k = before.shape
    m = after.shape[1]
    got = m * after.dtype.itemsize
    if m == n * k:
        return "all-gather", int(got)
    if m * n == k:
        return "reduce-scatter", int(k * before.dtype.itemsize)

    total = before.sum(axis=0)
    if all(np.allclose(row, total, rtol=1e-3, atol=1e-3) for row in after):
        return "all-reduce", int(got)

    def is_someones(row):
        if not row.any():
            return True
        return any(np.array_equal(row, b) for b in before)

    if all(is_someones(row) for row in after):
        return "collective-permute", int(got)
    return "all-to-all", int(got)


# what: Thinks that the latency of an all-reduce is paid once more for each device that it goes on to (n - 1 times each way), while the link's rule has it once each way.
def fastest_mesh(
    w: jax.Array,
    x: jax.Array,
    sums: int,
    room: int,
    devices: list,
    link: Link,
) -> tuple[jax.Array, jax.Array]:
    count = len(devices)

    def all_reduce(size, over):
        if over == 1:
            return 0.0
        hops = over - 1
        moving = size * hops / over / link.bytes_per_second
        return 2 * max(moving, hops * link.latency)

    def seconds(model):
        data = count // model
        gradients = all_reduce(w.nbytes / model, data)
        return gradients + sums * all_reduce(x.nbytes / data, model)

    possible = [
        model
        for model in range(1, count + 1)
        if count % model == 0 and w.nbytes / model <= room
    ]
    model = min(possible, key=seconds)
    mesh = Mesh(
        np.array(devices).reshape(count // model, model), ("data", "model")
    )
    put = lambda a, spec: jax.device_put(a, NamedSharding(mesh, spec))  # noqa: E731
    return put(w, P(None, "model")), put(x, P("data", None))
