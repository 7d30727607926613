"""Wrong answers of ch07_collectives that its mistakes.py does not know, written after the checks were finished."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

CUT = P("x")


def _on_each(f, mesh, *args, **options):
    return jax.shard_map(f, mesh=mesh, in_specs=CUT, out_specs=CUT, **options)(
        *args
    )


def _ring(x, mesh, rounds, finish):
    n = mesh.size
    around = [(i, (i + 1) % n) for i in range(n)]

    def on_each(row):
        me, pieces = lax.axis_index("x"), row.reshape(n, -1)
        for k in range(n - 1):
            came = lax.ppermute(pieces[(me - k) % n], "x", around)
            pieces = pieces.at[(me - k - 1) % n].add(came)
        for k in range(rounds):
            came = lax.ppermute(pieces[(me + 1 - k) % n], "x", around)
            pieces = pieces.at[(me - k) % n].set(came)
        return finish(pieces).reshape(row.shape)

    return _on_each(on_each, mesh, x)


def ring_all_reduce__averaged(x, mesh):
    return _ring(x, mesh, mesh.size - 1, lambda pieces: pieces / mesh.size)


def ring_all_reduce__scattered_and_gathered(x, mesh):
    def on_each(row):
        piece = lax.psum_scatter(row[0], "x", tiled=True)
        return lax.all_gather(piece, "x", tiled=True)[None]

    return _on_each(on_each, mesh, x, check_vma=False)


def ring_all_reduce__every_third(x, mesh):
    n = mesh.size
    jump = 3 if n > 4 else 1
    around = [(i, (i + jump) % n) for i in range(n)]

    def on_each(row):  # a ring, but not of neighbours
        me, pieces = lax.axis_index("x") * 3 % n, row.reshape(n, -1)
        me = lax.axis_index("x") if jump == 1 else me
        for k in range(n - 1):
            came = lax.ppermute(pieces[(me - k) % n], "x", around)
            pieces = pieces.at[(me - k - 1) % n].add(came)
        for k in range(n - 1):
            came = lax.ppermute(pieces[(me + 1 - k) % n], "x", around)
            pieces = pieces.at[(me - k) % n].set(came)
        return pieces.reshape(row.shape)

    return _on_each(on_each, mesh, x)


def mean_gradient_shards__not_tiled(gradients, mesh):
    def on_each(gradients):
        own = jax.tree.map(lambda g: g[0] / mesh.size, gradients)
        return lax.psum_scatter(own, "x")

    return _on_each(on_each, mesh, gradients)


def mean_gradient_shards__divided_twice(gradients, mesh):
    def on_each(gradients):
        own = jax.tree.map(lambda g: g[0] / mesh.size, gradients)
        return jax.tree.map(
            lambda g: lax.psum_scatter(g, "x", tiled=True) / mesh.size, own
        )

    return _on_each(on_each, mesh, gradients)


def mean_gradient_shards__first_dimension_kept(gradients, mesh):
    def on_each(gradients):
        own = jax.tree.map(lambda g: g / mesh.size, gradients)
        return lax.psum_scatter(own, "x", scatter_dimension=1, tiled=True)

    return _on_each(on_each, mesh, gradients)


def mean_gradient_shards__sent_as_bfloat16(gradients, mesh):
    def on_each(gradients):
        own = jax.tree.map(
            lambda g: (g[0] / mesh.size).astype(jnp.bfloat16), gradients
        )
        mean = lax.psum_scatter(own, "x", tiled=True)
        return jax.tree.map(lambda g: g.astype(jnp.float32), mean)

    return _on_each(on_each, mesh, gradients)


def _experts(tokens, expert, weights, mesh, there, back):
    def on_each(tokens, expert, weights):
        order = jnp.argsort(expert)
        return back(there(tokens[order]) @ weights[0], order, expert)

    return _on_each(on_each, mesh, tokens, expert, weights)


def _send(blocks):
    return lax.all_to_all(blocks, "x", 0, 0, tiled=True)


def to_experts__taken_by_expert(tokens, expert, weights, mesh):
    return _experts(
        tokens,
        expert,
        weights,
        mesh,
        _send,
        lambda done, order, expert: _send(done)[expert],
    )


def to_experts__blocks_of_one(tokens, expert, weights, mesh):
    def there(rows):
        return lax.all_to_all(rows, "x", 0, 0)

    return _experts(
        tokens,
        expert,
        weights,
        mesh,
        there,
        lambda done, order, expert: _send(done)[jnp.argsort(order)],
    )


def to_experts__put_in_order_too_early(tokens, expert, weights, mesh):
    return _experts(
        tokens,
        expert,
        weights,
        mesh,
        _send,
        lambda done, order, expert: _send(done[jnp.argsort(order)]),
    )


def _size(before, after):
    return max(before[0].nbytes, after[0].nbytes)


def _name(before, after):
    n, k = before.shape
    exchanged = before.reshape(n, n, -1).swapaxes(0, 1).reshape(n, k)
    if after.shape[1] != k:
        return "all-gather" if after.shape[1] > k else "reduce-scatter"
    if (after == after[0]).all():
        return "all-reduce"
    return "all-to-all" if (after == exchanged).all() else "collective-permute"


def which_collective__jax_names(before, after):
    return _name(before, after).replace("-", "_"), _size(before, after)


def which_collective__numbers_for_bytes(before, after):
    return _name(before, after), max(before.shape[1], after.shape[1])


def which_collective__number_of_devices_too(before, after):
    return _name(before, after), _size(before, after), len(before)


def which_collective__one_piece(before, after):
    n, k = before.shape
    part = k // n
    if after.shape[1] != k:
        name = "all-gather" if after.shape[1] > k else "reduce-scatter"
        return name, max(before[0].nbytes, after[0].nbytes)
    if (after == after[0]).all():
        return "all-reduce", before[0].nbytes
    own = (after[0, :part] == before[0, :part]).all()
    return "all-to-all" if own else "collective-permute", before[0].nbytes


def _search(w, x, sums, room, devices, link, better=min):
    def time(size, n):
        wire = size * (n - 1) / n / link.bytes_per_second
        return 2 * max(wire, link.latency) if n > 1 else 0.0

    n, found = len(devices), {}
    for model in (m for m in range(1, n + 1) if n % m == 0):
        if w.nbytes / model <= room:
            data = n // model
            took = time(w.nbytes / model, data)
            found[data, model] = took + sums * time(x.nbytes / data, model)
    best, _ = better(found.items(), key=lambda item: item[1])
    return jax.make_mesh(best, ("data", "model"), devices=devices)


COLUMNS, ROWS = P(None, "model"), P("data")


def _put(w, x, mesh, columns=COLUMNS, rows=ROWS):
    there = jax.NamedSharding(mesh, columns), jax.NamedSharding(mesh, rows)
    return jax.device_put((w, x), there)


def fastest_mesh__slowest(*args):
    return _put(*args[:2], _search(*args, better=max))


def fastest_mesh__only_the_weights(*args):
    return _put(*args[:2], _search(*args))[0]


def fastest_mesh__batch_first(*args):
    return _put(*args[:2], _search(*args))[::-1]


def fastest_mesh__both_cut_twice(*args):
    whole = P("data", "model")
    return _put(*args[:2], _search(*args), whole, whole)


def fastest_mesh__nothing_moved(*args):
    return args[:2]


def fastest_mesh__least_memory(w, x, sums, room, devices, link):
    mesh = jax.make_mesh((1, len(devices)), ("data", "model"), devices=devices)
    return _put(w, x, mesh)


def fastest_mesh__smallest_that_fits(*args):
    def fewest(items, key):
        return min(items, key=lambda item: item[0][1])

    return _put(*args[:2], _search(*args, better=fewest))
