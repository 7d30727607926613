"""ch07_collectives solved a third way: halving and doubling, one long vector, a dispatch matrix."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def ring_all_reduce(x, mesh):
    """Half of every piece one way round, the other half the other way."""
    n = mesh.size

    def one_way(me, pieces, step):  # piece me + step * k comes in turn k
        around = [(i, (i + step) % n) for i in range(n)]
        moving = pieces[me]
        for k in range(1, n):
            moving = pieces[(me - step * k) % n] + lax.ppermute(
                moving, "x", around
            )
        whole = [moving]  # the sum of piece me + step, then of me, …
        for _ in range(n - 1):
            whole.append(lax.ppermute(whole[-1], "x", around))
        at = (me + step * (1 - jnp.arange(n))) % n
        return pieces.at[at].set(jnp.stack(whole))

    def run(row):
        me, pieces = lax.axis_index("x"), row.reshape(n, -1)
        half = pieces.shape[1] // 2
        halves = (pieces[:, :half], 1), (pieces[:, half:], -1)
        both = [one_way(me, piece, step) for piece, step in halves]
        return jnp.concatenate(both, axis=1).reshape(row.shape)

    return jax.shard_map(run, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


def mean_gradient_shards(gradients, mesh):
    """All gradients as one long vector, in the order in which its pieces go to the devices."""
    n = mesh.size

    def run(gradients):
        names = sorted(gradients)
        pieces = jnp.concatenate(
            [gradients[k].reshape(n, -1) for k in names], axis=1
        )
        mine = lax.psum_scatter(pieces, "x", scatter_dimension=0) / n
        out, at = {}, 0
        for k in names:
            shape = gradients[k].shape[1] // n, *gradients[k].shape[2:]
            out[k] = mine[at : at + int(np.prod(shape))].reshape(shape)
            at += int(np.prod(shape))
        return out

    return jax.shard_map(run, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(
        gradients
    )


def to_experts(tokens, expert, weights, mesh):
    """With a dispatch matrix, as mixtures of experts are often written."""
    n = mesh.size
    share = len(tokens) // n // n

    def run(tokens, expert, weights):
        hot = jax.nn.one_hot(expert, n)  # f32[k/n, n]
        place = (jnp.cumsum(hot, axis=0) * hot).sum(axis=1) - 1
        dispatch = (
            hot[:, :, None] * jax.nn.one_hot(place, share)[:, None, :]
        )  # f32[k/n, n, share]
        out = lax.all_to_all(
            jnp.einsum("tes,td->esd", dispatch, tokens), "x", 0, 1, tiled=True
        )
        back = lax.all_to_all(out @ weights[0], "x", 1, 0, tiled=True)
        return jnp.einsum("tes,esh->th", dispatch, back)

    cut = P("x")
    return jax.shard_map(run, mesh=mesh, in_specs=cut, out_specs=cut)(
        tokens, expert, weights
    )


def fastest_mesh(w, x, sums, room, devices, link):
    """One mesh after the other, the best so far kept; the blocks cut by hand."""
    n, best, least = len(devices), (), float("inf")
    for data in range(n, 0, -1):
        model = n // data
        if data * model != n or w.nbytes > room * model:
            continue
        took = 0.0
        for size, k, times in (
            (w.nbytes / model, data, 1),
            (x.nbytes / data, model, sums),
        ):
            wire = size * (1 - 1 / k) / link.bytes_per_second
            took += times * max(wire, link.latency) * (k > 1)
        if took < least:
            best, least = (data, model), took
    data, model = best
    mesh = Mesh(np.reshape(devices, (data, 1, model)), ("data", "one", "model"))
    columns, rows = np.split(w, model, axis=1), np.split(x, data)

    def put(array, spec, block):
        return jax.make_array_from_single_device_arrays(
            array.shape,
            NamedSharding(mesh, spec),
            [jax.device_put(block(i), d) for i, d in enumerate(devices)],
        )

    return (
        put(w, P("one", "model"), lambda i: columns[i % model]),
        put(x, P("data"), lambda i: rows[i // model]),
    )
