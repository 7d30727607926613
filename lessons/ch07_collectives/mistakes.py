"""Known wrong answers of ch07_collectives; words.toml explains them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

CUT = P("x")


def _on_each(f, mesh, *args, out=CUT):
    return jax.shard_map(
        f, mesh=mesh, in_specs=CUT, out_specs=out, check_vma=False
    )(*args)


def _around(n):
    return [(i, (i + 1) % n) for i in range(n)]


def _whole_rows(x, mesh, rounds):
    def on_each(row):
        total = moving = row
        for _ in range(rounds):
            moving = lax.ppermute(moving, "x", _around(mesh.size))
            total += moving
        return total

    return _on_each(on_each, mesh, x)


def ring_all_reduce__whole_rows(x, mesh):
    return _whole_rows(x, mesh, mesh.size - 1)


def ring_all_reduce__own_row_twice(x, mesh):
    return _whole_rows(x, mesh, mesh.size)


def ring_all_reduce__psum(x, mesh):
    return _on_each(lambda row: lax.psum(row, "x"), mesh, x)


def _rings(x, mesh, around, *starts):
    """Rounds of n - 1 steps: in the first one adds, in the second replaces."""
    n = mesh.size

    def on_each(row):
        me, pieces = lax.axis_index("x"), row.reshape(n, -1)
        for start, put in zip(starts, ("add", "set"), strict=False):
            for k in range(n - 1):
                at = (me + start - k) % n
                came = lax.ppermute(pieces[at], "x", around)
                pieces = getattr(pieces.at[(at - 1) % n], put)(came)
        return pieces.reshape(row.shape)

    return _on_each(on_each, mesh, x)


def ring_all_reduce__one_round(x, mesh):
    return _rings(x, mesh, _around(mesh.size), 0)


def ring_all_reduce__unfinished_pieces(x, mesh):
    return _rings(x, mesh, _around(mesh.size), 0, 0)


def ring_all_reduce__not_closed(x, mesh):
    return _rings(x, mesh, _around(mesh.size)[:-1], 0, 1)


def ring_all_reduce__added_twice(x, mesh):
    def on_each(row):
        n, me = mesh.size, lax.axis_index("x")
        pieces = row.reshape(n, -1)
        for k in range(2 * (n - 1)):
            came = lax.ppermute(pieces[(me - k) % n], "x", _around(n))
            pieces = pieces.at[(me - k - 1) % n].add(came)
        return pieces.reshape(row.shape)

    return _on_each(on_each, mesh, x)


def ring_all_reduce__straight_across(x, mesh):
    n = mesh.size

    def to(k):
        return [(i, (i + k) % n) for i in range(n)]

    def on_each(row):
        me, pieces = lax.axis_index("x"), row.reshape(n, -1)
        own = pieces[me]
        for k in range(1, n):
            own += lax.ppermute(pieces[(me + k) % n], "x", to(k))
        pieces = pieces.at[me].set(own)
        for k in range(1, n):
            came = lax.ppermute(own, "x", to(k))
            pieces = pieces.at[(me - k) % n].set(came)
        return pieces.reshape(row.shape)

    return _on_each(on_each, mesh, x)


def ring_all_reduce__a_turn_too_many(x, mesh):
    n = mesh.size

    def on_each(row):
        me = lax.axis_index("x")

        def pass_on(pieces, at, put):
            came = lax.ppermute(pieces[at % n], "x", _around(n))
            return getattr(pieces.at[(at - 1) % n], put)(came)

        pieces = row.reshape(n, -1)
        pieces = lax.fori_loop(
            0, n, lambda k, p: pass_on(p, me - k, "add"), pieces
        )
        pieces = lax.fori_loop(
            0, n, lambda k, p: pass_on(p, me + 1 - k, "set"), pieces
        )
        return pieces.reshape(row.shape)

    return _on_each(on_each, mesh, x)


def ring_all_reduce__into_the_piece_sent(x, mesh):
    def on_each(row):
        n, me = mesh.size, lax.axis_index("x")
        pieces = row.reshape(n, -1)
        for k in range(n - 1):
            at = (me - k) % n
            came = lax.ppermute(pieces[at], "x", _around(n))
            pieces = pieces.at[at].add(came)
        for k in range(n - 1):
            came = lax.ppermute(pieces[(me + 1 - k) % n], "x", _around(n))
            pieces = pieces.at[(me - k) % n].set(came)
        return pieces.reshape(row.shape)

    return _on_each(on_each, mesh, x)


def ring_all_reduce__handed_out_to_the_piece_sent(x, mesh):
    n = mesh.size

    def on_each(row):
        me, pieces = lax.axis_index("x"), row.reshape(n, -1)
        for k in range(n - 1):
            came = lax.ppermute(pieces[(me - k) % n], "x", _around(n))
            pieces = pieces.at[(me - k - 1) % n].add(came)
        for k in range(n - 1):
            at = (me + 1 - k) % n
            came = lax.ppermute(pieces[at], "x", _around(n))
            pieces = pieces.at[at].set(came)
        return pieces.reshape(row.shape)

    return _on_each(on_each, mesh, x)


def ring_all_reduce__pieces_in_wrong_place(x, mesh):
    def on_each(row):
        n, me = mesh.size, lax.axis_index("x")
        pieces = row.reshape(n, -1)
        for k in range(n - 1):
            came = lax.ppermute(pieces[(me - k) % n], "x", _around(n))
            pieces = pieces.at[(me - k - 1) % n].add(came)
        moving = pieces[(me + 1) % n]
        for k in range(n):
            pieces = pieces.at[(me - k) % n].set(moving)
            moving = lax.ppermute(moving, "x", _around(n)) if k < n - 1 else 0
        return pieces.reshape(row.shape)

    return _on_each(on_each, mesh, x)


def ring_all_reduce__one_step_short(x, mesh):
    def on_each(row):
        n, me = mesh.size, lax.axis_index("x")
        pieces = row.reshape(n, -1)
        for k in range(n - 1):
            came = lax.ppermute(pieces[(me - k) % n], "x", _around(n))
            pieces = pieces.at[(me - k - 1) % n].add(came)
        for k in range(n - 2):
            came = lax.ppermute(pieces[(me + 1 - k) % n], "x", _around(n))
            pieces = pieces.at[(me - k) % n].set(came)
        return pieces.reshape(row.shape)

    return _on_each(on_each, mesh, x)


def ring_all_reduce__second_round_begins_elsewhere(x, mesh):
    return _rings(x, mesh, _around(mesh.size), 0, -1)


def _shards(gradients, mesh, each, out=CUT):
    def on_each(gradients):
        return jax.tree.map(lambda g: each(g[0]), gradients)

    return _on_each(on_each, mesh, gradients, out=out)


def _own_piece(whole, mesh):
    size = len(whole) // mesh.size
    return lax.dynamic_slice_in_dim(whole, lax.axis_index("x") * size, size)


def mean_gradient_shards__all_then_cut(gradients, mesh):
    return _shards(
        gradients, mesh, lambda g: _own_piece(lax.pmean(g, "x"), mesh)
    )


def mean_gradient_shards__everywhere(gradients, mesh):
    return _shards(gradients, mesh, lambda g: lax.pmean(g, "x"), out=P())


def mean_gradient_shards__sum(gradients, mesh):
    return _shards(
        gradients, mesh, lambda g: lax.psum_scatter(g, "x", tiled=True)
    )


def mean_gradient_shards__own_gradient(gradients, mesh):
    return _shards(gradients, mesh, lambda g: _own_piece(g, mesh))


def mean_gradient_shards__gathered(gradients, mesh):
    def each(g):
        return _own_piece(lax.all_gather(g, "x").mean(axis=0), mesh)

    return _shards(gradients, mesh, each)


def mean_gradient_shards__averaged_first(gradients, mesh):
    def each(g):
        mean = lax.pmean(g, "x")
        return lax.psum_scatter(mean, "x", tiled=True) / mesh.size

    return _shards(gradients, mesh, each)


def mean_gradient_shards__last_dimension(gradients, mesh):
    def one(g):
        last = g.ndim - 2  # of one device's gradient

        def on_each(g):
            mean = g[0] / mesh.size
            return lax.psum_scatter(
                mean, "x", scatter_dimension=last, tiled=True
            )

        return _on_each(on_each, mesh, g, out=P(*(None,) * last, "x"))

    return jax.tree.map(one, gradients)


def mean_gradient_shards__whole_block(gradients, mesh):
    def on_each(gradients):
        own = jax.tree.map(lambda g: g / mesh.size, gradients)
        return lax.psum_scatter(own, "x", tiled=True)

    return _on_each(on_each, mesh, gradients)


def mean_gradient_shards__own_blocks(gradients, mesh):
    def each(g):
        return g.reshape(mesh.size, -1, *g.shape[1:]).mean(axis=0)

    return _shards(gradients, mesh, each)


def _send(blocks):
    return lax.all_to_all(blocks, "x", 0, 0, tiled=True)


def to_experts__block_of_weights(tokens, expert, weights, mesh):
    def on_each(tokens, expert, weights):
        order = jnp.argsort(expert)
        back = _send(_send(tokens[order]) @ weights)
        return back[jnp.argsort(order)]

    return _on_each(on_each, mesh, tokens, expert, weights)


def to_experts__stayed_at_home(tokens, expert, weights, mesh):
    return _on_each(lambda t, _, w: t @ w[0], mesh, tokens, expert, weights)


def to_experts__not_sorted(tokens, expert, weights, mesh):
    def on_each(tokens, _, weights):
        return _send(_send(tokens) @ weights[0])

    return _on_each(on_each, mesh, tokens, expert, weights)


def to_experts__descending(tokens, expert, weights, mesh):
    def on_each(tokens, expert, weights):
        order = jnp.argsort(-expert)
        back = _send(_send(tokens[order]) @ weights[0])
        return back[jnp.argsort(order)]

    return _on_each(on_each, mesh, tokens, expert, weights)


def to_experts__not_sent_back(tokens, expert, weights, mesh):
    def on_each(tokens, expert, weights):
        return _send(tokens[jnp.argsort(expert)]) @ weights[0]

    return _on_each(on_each, mesh, tokens, expert, weights)


def _home(tokens, expert, weights, mesh, unsort):
    def on_each(tokens, expert, weights):
        order = jnp.argsort(expert)
        back = _send(_send(tokens[order]) @ weights[0])
        return unsort(back, order)

    return _on_each(on_each, mesh, tokens, expert, weights)


def to_experts__in_experts_order(tokens, expert, weights, mesh):
    return _home(tokens, expert, weights, mesh, lambda back, _: back)


def to_experts__sorted_twice(tokens, expert, weights, mesh):
    return _home(tokens, expert, weights, mesh, lambda back, order: back[order])


def to_experts__gathered_tokens(tokens, expert, weights, mesh):
    def on_each(tokens, expert, weights):
        everything = lax.all_gather((tokens, expert), "x", tiled=True)
        mine = everything[1] == lax.axis_index("x")
        done = (everything[0] @ weights[0]) * mine[:, None]
        return lax.psum_scatter(done, "x", tiled=True)

    return _on_each(on_each, mesh, tokens, expert, weights)


def to_experts__gathered_weights(tokens, expert, weights, mesh):
    def on_each(tokens, expert, weights):
        experts = lax.all_gather(weights, "x", tiled=True)
        return jnp.einsum("td,tdh->th", tokens, experts[expert])

    return _on_each(on_each, mesh, tokens, expert, weights)


def _named(before, after):
    n, k = before.shape
    exchanged = before.reshape(n, n, -1).swapaxes(0, 1).reshape(n, k)
    if after.shape[1] != k:
        return "all-gather" if after.shape[1] > k else "reduce-scatter"
    if (after == after[0]).all():
        return "all-reduce"
    same = (after == exchanged).all()
    return "all-to-all" if same else "collective-permute"


def which_collective__block_before(before, after):
    return _named(before, after), before[0].nbytes


def which_collective__block_after(before, after):
    return _named(before, after), after[0].nbytes


def which_collective__all_devices(before, after):
    return _named(before, after), max(before.nbytes, after.nbytes)


def which_collective__four_bytes(before, after):
    size = max(before.shape[1], after.shape[1]) * 4
    return _named(before, after), size


def which_collective__what_is_sent(before, after):
    name, n = _named(before, after), len(before)
    size = max(before[0].nbytes, after[0].nbytes)
    share = {"all-reduce": 2 * (n - 1), "collective-permute": n}
    return name, size * share.get(name, n - 1) // n


def which_collective__shapes_alone(before, after):
    name, size = _named(before, after), max(before[0].nbytes, after[0].nbytes)
    return "all-reduce" if after.shape == before.shape else name, size


def which_collective__sums_alone(before, after):
    name, size = _named(before, after), max(before[0].nbytes, after[0].nbytes)
    is_sum = np.array_equal(after[0], before.sum(axis=0).astype(after.dtype))
    if name == "all-reduce" and not is_sum:
        name = "collective-permute"
    return name, size


def which_collective__every_row_has_a_source(before, after):
    name, size = _named(before, after), max(before[0].nbytes, after[0].nbytes)
    sources = [row.tobytes() for row in before]
    if any(row.tobytes() not in sources for row in after):
        name = "all-to-all" if name == "collective-permute" else name
    return name, size


def _all_reduce(size, n, link):
    carried = size * (n - 1) / n / link.bytes_per_second
    return 2 * max(carried, link.latency) if n > 1 else 0.0


def _fits(weights, activations, room, data):
    return weights <= room


COLUMNS, ROWS = P(None, "model"), P("data")


def _laid_out(
    w,
    x,
    devices,
    shape,
    axes=("data", "model"),
    of_w=COLUMNS,
    of_x=ROWS,
):
    mesh = Mesh(np.array(devices).reshape(shape), axes)
    there = NamedSharding(mesh, of_w), NamedSharding(mesh, of_x)
    return jax.device_put((w, x), there)


def _fastest(
    args, time=_all_reduce, fits=_fits, gradients=None, sent=None, put=_laid_out
):
    """The solution, of which each part may be replaced."""
    w, x, sums, room, devices, link = args
    found = {}
    for model in range(1, len(devices) + 1):
        data, rest = divmod(len(devices), model)
        parts = w.nbytes / model, x.nbytes / data
        if rest or not fits(*parts, room, data):
            continue
        size = gradients(w, model, data) if gradients else parts[0]
        if sent:
            total = sent(parts[1], sums, model, data)
        else:
            total = sums * time(parts[1], model, link)
        found[data, model] = time(size, data, link) + total
    return put(w, x, devices, min(found, key=found.get))


def fastest_mesh__latency_left_out(*args):
    def time(size, n, link):
        return 2 * size * (n - 1) / n / link.bytes_per_second

    return _fastest(args, time)


def fastest_mesh__latency_added(*args):
    def time(size, n, link):
        carried = size * (n - 1) / n / link.bytes_per_second
        return 2 * (carried + link.latency) if n > 1 else 0.0

    return _fastest(args, time)


def fastest_mesh__whole_arrays(*args):
    def time(size, n, link):
        carried = size / link.bytes_per_second
        return 2 * max(carried, link.latency) if n > 1 else 0.0

    return _fastest(args, time)


def fastest_mesh__one_device_waits(*args):
    def time(size, n, link):
        carried = size * (n - 1) / n / link.bytes_per_second
        return 2 * max(carried, link.latency)

    return _fastest(args, time)


def fastest_mesh__latency_of_a_ring(*args):
    def time(size, n, link):
        carried = size * (n - 1) / n / link.bytes_per_second
        return 2 * max(carried, (n - 1) * link.latency)

    return _fastest(args, time)


def fastest_mesh__memory_forgotten(*args):
    return _fastest(args, fits=lambda *_: True)


def fastest_mesh__full_room_refused(*args):
    return _fastest(args, fits=lambda weights, _, room, data: weights < room)


def fastest_mesh__activations_in_room(*args):
    def fits(weights, activations, room, data):
        return weights + activations <= room

    return _fastest(args, fits=fits)


def fastest_mesh__powers_of_two(*args):
    def fits(weights, activations, room, data):
        return weights <= room and data.bit_count() == 1

    return _fastest(args, fits=fits)


def fastest_mesh__model_powers_of_two(*args):
    def fits(weights, activations, room, data):
        model = len(args[4]) // data
        return weights <= room and model.bit_count() == 1

    return _fastest(args, fits=fits)


def fastest_mesh__gradients_not_cut(*args):
    return _fastest(args, gradients=lambda w, model, data: w.nbytes)


def fastest_mesh__batch_not_cut(*args):
    def sent(size, sums, model, data):
        return sums * _all_reduce(size * data, model, args[-1])

    return _fastest(args, sent=sent)


def fastest_mesh__one_sum(*args):
    def sent(size, sums, model, data):
        return _all_reduce(size, model, args[-1])

    return _fastest(args, sent=sent)


def fastest_mesh__one_large_sum(*args):
    def sent(size, sums, model, data):
        return _all_reduce(sums * size, model, args[-1])

    return _fastest(args, sent=sent)


def fastest_mesh__along_the_other_axis(*args):
    def time(size, n, link):
        return _all_reduce(size, len(args[4]) // n, link)

    return _fastest(args, time)


def fastest_mesh__cut_by_the_other_axis(*args):
    def sent(size, sums, model, data):
        return sums * _all_reduce(size * data / model, model, args[-1])

    def gradients(w, model, data):
        return w.nbytes / data

    return _fastest(args, gradients=gradients, sent=sent)


def fastest_mesh__exchanged(*args):
    def put(w, x, devices, shape):
        return _laid_out(w, x, devices, shape[::-1])

    return _fastest(args, put=put)


def fastest_mesh__names_exchanged(*args):
    def put(w, x, devices, shape):
        return _laid_out(w, x, devices, shape, ("model", "data"))

    return _fastest(args, put=put)


def fastest_mesh__model_first(*args):
    def put(w, x, devices, shape):
        return _laid_out(w, x, devices, shape[::-1], ("model", "data"))

    return _fastest(args, put=put)


def fastest_mesh__devices_sorted(*args):
    def put(w, x, devices, shape):
        in_order = sorted(devices, key=lambda device: device.id)
        return _laid_out(w, x, in_order, shape)

    return _fastest(args, put=put)


def fastest_mesh__first_devices(*args):
    def put(w, x, devices, shape):
        return _laid_out(w, x, jax.devices()[: len(devices)], shape)

    return _fastest(args, put=put)


def fastest_mesh__weights_copied(*args):
    def put(w, x, devices, shape):
        return _laid_out(w, x, devices, shape, of_w=P())

    return _fastest(args, put=put)


def fastest_mesh__rows_of_the_weights(*args):
    def put(w, x, devices, shape):
        return _laid_out(w, x, devices, shape, of_w=P("model"))

    return _fastest(args, put=put)


def fastest_mesh__batch_copied(*args):
    def put(w, x, devices, shape):
        return _laid_out(w, x, devices, shape, of_x=P())

    return _fastest(args, put=put)
