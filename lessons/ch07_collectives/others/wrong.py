"""Mistakes of ch07_collectives once more, spelled differently, where that may tell: the name must be the same."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _map(mesh, out=None):
    return jax.shard_map(
        mesh=mesh, in_specs=P("x"), out_specs=P("x") if out is None else out
    )


def _next(mesh):
    return [*zip(range(mesh.size), [*range(1, mesh.size), 0], strict=True)]


def _passed(x, mesh, rounds):
    @_map(mesh)
    def run(row):
        def step(carry, _):
            moving = lax.ppermute(carry[0], "x", _next(mesh))
            return (moving, carry[1] + moving), None

        return lax.scan(step, (row, row), length=rounds)[0][1]

    return run(x)


def ring_all_reduce__whole_rows(x, mesh):
    return _passed(x, mesh, len(x) - 1)


def ring_all_reduce__own_row_twice(x, mesh):
    return _passed(x, mesh, len(x))


def ring_all_reduce__psum(x, mesh):
    total = jnp.broadcast_to(x.sum(axis=0, keepdims=True), x.shape)
    return jax.reshard(total, NamedSharding(mesh, P("x")))


def _two_rounds(x, mesh, perm, later, rule):
    n = mesh.shape["x"]

    @_map(mesh)
    def run(row):
        me, pieces = lax.axis_index("x"), jnp.split(row[0], n)
        pieces = jnp.stack(pieces)
        for k in range(n - 1):
            came = lax.ppermute(pieces[(me + n - k) % n], "x", perm)
            pieces = pieces.at[(me + n - k - 1) % n].add(came)
        for k in range(len(rule) * (n - 1)):
            come_at = (me + later + n - k - 1) % n
            came = lax.ppermute(pieces[(come_at + 1) % n], "x", perm)
            pieces = getattr(pieces.at[come_at], rule[0])(came)
        return pieces.reshape(1, -1)

    return run(x)


def ring_all_reduce__one_round(x, mesh):
    return _two_rounds(x, mesh, _next(mesh), 0, [])


def ring_all_reduce__unfinished_pieces(x, mesh):
    return _two_rounds(x, mesh, _next(mesh), 0, ["set"])


def ring_all_reduce__not_closed(x, mesh):
    line = [(i, i + 1) for i in range(mesh.size - 1)]
    return _two_rounds(x, mesh, line, 1, ["set"])


def ring_all_reduce__added_twice(x, mesh):
    return _two_rounds(x, mesh, _next(mesh), 1, ["add"])


def ring_all_reduce__straight_across(x, mesh):
    n = mesh.size

    @_map(mesh)
    def run(row):
        me, pieces = lax.axis_index("x"), jnp.split(row, n, axis=1)
        whole = jnp.stack(pieces)[me]
        for k in range(n - 1, 0, -1):
            there = [((i + k) % n, i) for i in range(n)]
            whole += lax.ppermute(jnp.stack(pieces)[(me - k) % n], "x", there)
        done = [whole]
        for k in range(1, n):
            back = [((i + k) % n, i) for i in range(n)]
            done.append(lax.ppermute(whole, "x", back))
        return jnp.roll(jnp.stack(done), me, axis=0).reshape(1, -1)

    return run(x)


def ring_all_reduce__a_turn_too_many(x, mesh):
    n = mesh.size

    @_map(mesh)
    def run(row):
        me, pieces = lax.axis_index("x"), row.reshape(n, -1)
        for k in range(n):
            came = lax.ppermute(pieces[(me - k) % n], "x", _next(mesh))
            pieces = pieces.at[(me - k - 1) % n].add(came)
        for k in range(n):
            came = lax.ppermute(pieces[(me - k + 1) % n], "x", _next(mesh))
            pieces = pieces.at[(me - k) % n].set(came)
        return pieces.reshape(1, -1)

    return run(x)


def ring_all_reduce__into_the_piece_sent(x, mesh):
    n = mesh.size

    @_map(mesh)
    def run(row):
        me = lax.axis_index("x")

        def add(k, pieces):
            here = (me - k) % n
            came = lax.ppermute(pieces[here], "x", _next(mesh))
            return pieces.at[here].set(pieces[here] + came)

        def hand_out(k, pieces):
            came = lax.ppermute(pieces[(me + 1 - k) % n], "x", _next(mesh))
            return pieces.at[(me - k) % n].set(came)

        pieces = lax.fori_loop(0, n - 1, add, row.reshape(n, -1))
        return lax.fori_loop(0, n - 1, hand_out, pieces).reshape(1, -1)

    return run(x)


def ring_all_reduce__handed_out_to_the_piece_sent(x, mesh):
    n = mesh.size

    @_map(mesh)
    def run(row):
        me = lax.axis_index("x")

        def add(k, pieces):
            came = lax.ppermute(pieces[(me - k) % n], "x", _next(mesh))
            return pieces.at[(me - k - 1) % n].add(came)

        def hand_out(k, pieces):
            here = (me + n + 1 - k) % n
            came = lax.ppermute(pieces[here], "x", _next(mesh))
            return pieces.at[here].set(came)

        pieces = lax.fori_loop(0, n - 1, add, row.reshape(n, -1))
        return lax.fori_loop(0, n - 1, hand_out, pieces).reshape(1, -1)

    return run(x)


def ring_all_reduce__pieces_in_wrong_place(x, mesh):
    total = _two_rounds(x, mesh, _next(mesh), 1, ["set"])

    @_map(mesh)
    def shift(row):
        return jnp.roll(row.reshape(mesh.size, -1), -1, axis=0).reshape(1, -1)

    return shift(total)


def ring_all_reduce__one_step_short(x, mesh):
    n = mesh.size

    @_map(mesh)
    def run(row):
        me, pieces = lax.axis_index("x"), row.reshape(n, -1)
        for k in range(2 * n - 3):
            first = k < n - 1
            here = (me - k - 1) % n
            came = lax.ppermute(pieces[(me - k) % n], "x", _next(mesh))
            kept = pieces[here] * first
            pieces = pieces.at[here].set(kept + came)
        return pieces.reshape(1, -1)

    return run(x)


def ring_all_reduce__second_round_begins_elsewhere(x, mesh):
    return _two_rounds(x, mesh, _next(mesh), mesh.size - 1, ["set"])


def mean_gradient_shards__whole_block(gradients, mesh):
    @_map(mesh)
    def run(gradients):
        return {
            k: lax.psum_scatter(g, "x", tiled=True) / mesh.size
            for k, g in gradients.items()
        }

    return run(gradients)


def to_experts__block_of_weights(tokens, expert, weights, mesh):
    @_map(mesh)
    def run(tokens, expert, weights):
        order = jnp.argsort(expert)
        there = lax.all_to_all(tokens[order], "x", 0, 0, tiled=True)
        done = jnp.matmul(there, weights)
        home = lax.all_to_all(done, "x", 0, 0, tiled=True)
        return jnp.zeros_like(home).at[order].set(home)

    return run(tokens, expert, weights)


def mean_gradient_shards__all_then_cut(gradients, mesh):
    def one(g):
        return jax.reshard(
            g.sum(axis=0) / mesh.size, NamedSharding(mesh, P("x"))
        )

    return {name: one(g) for name, g in gradients.items()}


def mean_gradient_shards__everywhere(gradients, mesh):
    return jax.tree.map(lambda g: jnp.mean(g, axis=0), gradients)


def mean_gradient_shards__sum(gradients, mesh):
    @_map(mesh)
    def run(gradients):
        flat = {k: g.reshape(mesh.size, -1) for k, g in gradients.items()}
        mine = lax.psum_scatter(flat, "x")
        return {
            k: mine[k].reshape(-1, *g.shape[2:]) for k, g in gradients.items()
        }

    return run(gradients)


def mean_gradient_shards__own_gradient(gradients, mesh):
    @_map(mesh)
    def run(gradients):
        me = lax.axis_index("x")
        return {
            k: g.reshape(mesh.size, -1, *g.shape[2:])[me]
            for k, g in gradients.items()
        }

    return run(gradients)


def mean_gradient_shards__gathered(gradients, mesh):
    @_map(mesh)
    def run(gradients):
        everything, me = (
            lax.all_gather(gradients, "x", tiled=True),
            lax.axis_index("x"),
        )
        means = jax.tree.map(lambda g: g.sum(axis=0) / mesh.size, everything)
        return jax.tree.map(
            lambda g: g.reshape(mesh.size, -1, *g.shape[1:])[me], means
        )

    return run(gradients)


def mean_gradient_shards__averaged_first(gradients, mesh):
    @_map(mesh)
    def run(gradients):
        mean = jax.tree.map(
            lambda g: lax.psum(g[0], "x") / mesh.size, gradients
        )
        again = lax.pcast(mean, "x", to="varying")
        return jax.tree.map(
            lambda g: g / mesh.size, lax.psum_scatter(again, "x", tiled=True)
        )

    return run(gradients)


def mean_gradient_shards__last_dimension(gradients, mesh):
    def one(g):
        def run(block):
            return lax.psum_scatter(
                block[0] / mesh.size,
                "x",
                scatter_dimension=block.ndim - 2,
                tiled=True,
            )

        return _map(mesh, P(*[None] * (g.ndim - 2), "x"))(run)(g)

    return {name: one(g) for name, g in gradients.items()}


def mean_gradient_shards__own_blocks(gradients, mesh):
    @_map(mesh)
    def run(own):
        return jax.tree.map(
            lambda g: sum(jnp.split(g[0], mesh.size)) / mesh.size, own
        )

    return run(gradients)


def to_experts__stayed_at_home(tokens, expert, weights, mesh):
    run = _map(mesh)(
        lambda tokens, weights: jnp.einsum("td,xdh->th", tokens, weights)
    )
    return run(tokens, weights)


def to_experts__not_sorted(tokens, expert, weights, mesh):
    n = mesh.size

    @_map(mesh)
    def run(tokens, weights):
        there = lax.all_to_all(
            tokens.reshape(n, -1, tokens.shape[1]), "x", 0, 0
        )
        back = lax.all_to_all(there @ weights[0], "x", 0, 0)
        return back.reshape(len(tokens), -1)

    return run(tokens, weights)


def _sorted(tokens, expert, n):
    return jnp.take(tokens, jnp.argsort(expert), axis=0).reshape(
        n, -1, tokens.shape[1]
    )


def to_experts__not_sent_back(tokens, expert, weights, mesh):
    @_map(mesh)
    def run(tokens, expert, weights):
        there = lax.all_to_all(_sorted(tokens, expert, mesh.size), "x", 0, 0)
        return (there @ weights[0]).reshape(len(tokens), -1)

    return run(tokens, expert, weights)


def to_experts__in_experts_order(tokens, expert, weights, mesh):
    @_map(mesh)
    def run(tokens, expert, weights):
        there = lax.all_to_all(_sorted(tokens, expert, mesh.size), "x", 0, 0)
        return lax.all_to_all(there @ weights[0], "x", 0, 0).reshape(
            len(tokens), -1
        )

    return run(tokens, expert, weights)


def to_experts__sorted_twice(tokens, expert, weights, mesh):
    @_map(mesh)
    def run(tokens, expert, weights):
        there = lax.all_to_all(_sorted(tokens, expert, mesh.size), "x", 0, 0)
        back = lax.all_to_all(there @ weights[0], "x", 0, 0)
        return _sorted(back.reshape(len(tokens), -1), expert, 1)[0]

    return run(tokens, expert, weights)


def to_experts__descending(tokens, expert, weights, mesh):
    @_map(mesh)
    def run(tokens, expert, weights):
        order = jnp.argsort(expert)[::-1]
        there = lax.all_to_all(tokens[order], "x", 0, 0, tiled=True)
        back = lax.all_to_all(there @ weights[0], "x", 0, 0, tiled=True)
        return jnp.zeros_like(back).at[order].set(back)

    return run(tokens, expert, weights)


def to_experts__gathered_tokens(tokens, expert, weights, mesh):
    @_map(mesh)
    def run(tokens, expert, weights):
        t, e = (lax.all_gather(a, "x", tiled=True) for a in (tokens, expert))
        done = jnp.where((e == lax.axis_index("x"))[:, None], t @ weights[0], 0)
        return lax.psum_scatter(done, "x", tiled=True)

    return run(tokens, expert, weights)


def to_experts__gathered_weights(tokens, expert, weights, mesh):
    @_map(mesh)
    def run(tokens, expert, weights):
        experts = lax.all_gather(weights[0], "x")
        return (tokens[:, None, :] @ experts[expert])[:, 0]

    return run(tokens, expert, weights)


def _step(w, x, sums, link, data, model):
    def all_reduce(size, n):
        if n == 1:
            return 0.0
        slow = size * (n - 1) / n / link.bytes_per_second
        return 2 * max(slow, link.latency)

    layers = sums * all_reduce(x.nbytes / data, model)
    return all_reduce(w.nbytes / model, data) + layers


COLUMNS = P(None, "model")


def _put(w, x, mesh, columns=COLUMNS):
    return (
        jax.device_put(w, NamedSharding(mesh, columns)),
        jax.device_put(x, NamedSharding(mesh, P("data", None))),
    )


def fastest_mesh__model_powers_of_two(w, x, sums, room, devices, link):
    times, model = {}, 1
    while model <= len(devices):
        data = len(devices) // model
        if data * model == len(devices) and w.nbytes / model <= room:
            times[data, model] = _step(w, x, sums, link, data, model)
        model *= 2
    best = min(times, key=times.get)
    mesh = jax.make_mesh(best, ("data", "model"), devices=devices)
    return _put(w, x, mesh)


def _best(w, x, sums, room, devices, link):
    shapes = [
        (data, len(devices) // data)
        for data in range(1, len(devices) + 1)
        if len(devices) % data == 0 and w.nbytes * data <= room * len(devices)
    ]
    times = [_step(w, x, sums, link, *shape) for shape in shapes]
    return shapes[times.index(min(times))]


def fastest_mesh__first_devices(w, x, sums, room, devices, link):
    data, model = _best(w, x, sums, room, devices, link)
    return _put(w, x, jax.make_mesh((data, model), ("data", "model")))


def fastest_mesh__model_first(w, x, sums, room, devices, link):
    data, model = _best(w, x, sums, room, devices, link)
    grid = np.array(devices).reshape(model, data)
    return _put(w, x, jax.sharding.Mesh(grid.T, ("data", "model")))


def fastest_mesh__exchanged(w, x, sums, room, devices, link):
    model, data = _best(w, x, sums, room, devices, link)
    mesh = jax.make_mesh((data, model), ("data", "model"), devices=devices)
    return _put(w, x, mesh)


def fastest_mesh__names_exchanged(w, x, sums, room, devices, link):
    shape = _best(w, x, sums, room, devices, link)
    mesh = jax.make_mesh(shape, ("data", "model"), devices=devices)
    columns, rows = P(None, "data"), P("model")
    return (
        jax.device_put(w, NamedSharding(mesh, columns)),
        jax.device_put(x, NamedSharding(mesh, rows)),
    )


def fastest_mesh__rows_of_the_weights(w, x, sums, room, devices, link):
    shape = _best(w, x, sums, room, devices, link)
    mesh = jax.make_mesh(shape, ("data", "model"), devices=devices)
    return _put(w, x, mesh, P("model", None))
