"""Every known mistake of ch06_shard_map once more, spelled differently: it must be given the same name."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def _names(spec):
    return [
        n
        for entry in spec
        for n in ((entry,) if isinstance(entry, str) else entry or ())
    ]


def _each(x, mesh, spec):
    return jax.shard_map(
        lambda b: jnp.sum(b).reshape(1, 1),
        mesh=mesh,
        in_specs=spec,
        out_specs=spec,
    )(x)


def block_sums__forgotten_psum(x, mesh, spec):
    @partial(jax.shard_map, mesh=mesh, out_specs=(spec, P()))
    def both(block):
        total = jnp.einsum("ij->", block)
        return total[None, None], total

    return both(x)


def block_sums__unchecked(x, mesh, spec):
    @partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(spec,),
        out_specs=(spec, P()),
        check_vma=False,
    )
    def f(block):
        total = block.sum(axis=0).sum()
        return total[None, None], total

    return f(x)


def block_sums__twice(x, mesh, spec):
    names, sums = _names(spec), _each(x, mesh, spec)
    once = jax.shard_map(
        lambda b: lax.psum(b[0, 0], names),
        mesh=mesh,
        in_specs=spec,
        out_specs=P(),
    )(sums)
    return sums, jax.shard_map(
        lambda s: lax.psum(s, names), mesh=mesh, in_specs=P(), out_specs=P()
    )(once)


def block_sums__all_axes(x, mesh, spec):
    total = jax.shard_map(
        lambda b: lax.psum(b[0, 0], ("x", "y")),
        mesh=mesh,
        in_specs=spec,
        out_specs=P(),
    )
    return _each(x, mesh, spec), total(_each(x, mesh, spec))


def block_sums__copies_counted(x, mesh, spec):
    @partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(spec,),
        out_specs=P(),
        check_vma=False,
    )
    def total(block):
        return lax.psum(
            jnp.ones(block.shape[0]) @ block @ jnp.ones(block.shape[1]),
            ("y", "x"),
        )

    return _each(x, mesh, spec), total(x)


def block_sums__one_axis(x, mesh, spec):
    @partial(jax.shard_map, mesh=mesh, in_specs=(spec,), out_specs=(spec, P()))
    def both(block):
        mine = jnp.einsum("ij->", block)
        return mine[None, None], lax.psum(mine, ("x",))

    return both(x)


def block_sums__dimensions_lost(x, mesh, spec):
    @partial(jax.shard_map, mesh=mesh, out_specs=(spec, P()))
    def both(block):
        mine = jnp.einsum("ij->", block)
        return mine, lax.psum(mine, _names(spec))

    return both(x)


def block_sums__one_axis_at_a_time(x, mesh, spec):
    @partial(jax.shard_map, mesh=mesh, out_specs=(spec, P()))
    def f(block):
        columns = block.sum(axis=1, keepdims=True)
        mine = columns.sum(axis=0, keepdims=True)
        names = _names(spec)
        once = lax.psum(mine, names[-1:])
        return mine, (lax.psum(once, names[:-1]) if names[:-1] else once)[0, 0]

    return f(x)


def block_sums__left_to_jit(x, mesh, spec):
    return _each(x, mesh, spec), jnp.einsum("ij->", x)


def block_sums__nested_tuple(x, mesh, spec):
    @partial(jax.shard_map, mesh=mesh, in_specs=(spec,), out_specs=(spec, P()))
    def both(block):
        mine = block.sum()
        return mine[None, None], lax.psum(mine, tuple(filter(None, spec)))

    return both(x)


def block_sums__laid_out_by_both(x, mesh, spec):
    axes = tuple(jax.tree.leaves(tuple(spec)))

    def each(block):
        part = block.sum(keepdims=True)
        return part, lax.psum(part[0, 0], axes)

    return jax.shard_map(
        each, mesh=mesh, in_specs=spec, out_specs=(P("x", "y"), P())
    )(x)


def _both(x, guess, mesh, f):
    stacked = jax.shard_map(
        f, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=P()
    )(x, guess)
    return stacked[0], stacked[1]


def mean_and_variance__squares(x, guess, mesh):
    def f(block, guess):
        sums = (
            lax.psum(
                jnp.stack([block.sum(), jnp.square(block).sum()]), ("x", "y")
            )
            / x.size
        )
        return jnp.stack([sums[0], sums[1] - sums[0] ** 2])

    return _both(x, guess, mesh, f)


def mean_and_variance__within_shards(x, guess, mesh):
    def f(block, guess):
        d = block - block.mean()
        return (
            lax.psum(jnp.stack([block.sum(), (d * d).sum()]), ("x", "y"))
            / x.size
        )

    return _both(x, guess, mesh, f)


def _powers(block, guess, n):
    d = block - guess
    return lax.psum(jnp.stack([d.sum(), (d**2).sum()]), ("x", "y")) / n


def mean_and_variance__guess_forgotten(x, guess, mesh):
    def f(block, guess):
        first, second = _powers(block, guess, x.size)
        return jnp.stack([first, second - first**2])

    return _both(x, guess, mesh, f)


def mean_and_variance__around_the_guess(x, guess, mesh):
    def f(block, guess):
        return _powers(block, guess, x.size) + jnp.stack([guess, 0 * guess])

    return _both(x, guess, mesh, f)


def mean_and_variance__means_added(x, guess, mesh):
    def f(block, guess):
        first, second = _powers(block, guess, block.size)
        return jnp.stack([guess + first, second - first**2])

    return _both(x, guess, mesh, f)


def mean_and_variance__one_less(x, guess, mesh):
    def f(block, guess):
        first, second = _powers(block, guess, x.size)
        return jnp.stack(
            [guess + first, (second - first**2) / (1 - 1 / x.size)]
        )

    return _both(x, guess, mesh, f)


def mean_and_variance__two_rounds(x, guess, mesh):
    @jax.shard_map(mesh=mesh, in_specs=P("x", "y"), out_specs=(P(), P()))
    def two_rounds(block):
        mean = lax.psum(block.sum(), ("x", "y")) / x.size
        return mean, lax.psum(
            jnp.square(block - mean).sum(), ("x", "y")
        ) / x.size

    return two_rounds(x)


def mean_and_variance__left_to_jit(x, guess, mesh):
    return jnp.sum(x) / x.size, jnp.std(x) ** 2


def _judged(x, mesh, losers, agree, of):
    """agree(of(index, at, me)) over the shards that hold the largest; the others offer `losers`."""

    @jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P())
    def f(block):
        mine, me = block.max(), lax.axis_index("x")
        at = jnp.argmax(block == mine)
        offer = of(me * len(block) + at, at, me)
        return agree(
            lax.select(
                mine == lax.pmax(mine, "x"), offer, jnp.full_like(offer, losers)
            ),
            "x",
        )

    return f(x)


def first_largest__local_index(x, mesh):
    return _judged(x, mesh, 2**30, lax.pmin, lambda index, at, me: at)


def first_largest__last_one(x, mesh):
    return _judged(x, mesh, -(2**30), lax.pmax, lambda index, at, me: index)


def first_largest__zero_for_the_rest(x, mesh):
    return _judged(x, mesh, 0, lax.pmin, lambda index, at, me: index)


def first_largest__added(x, mesh):
    return _judged(x, mesh, 0, lax.psum, lambda index, at, me: index)


def first_largest__shard_number(x, mesh):
    return _judged(x, mesh, 2**30, lax.pmin, lambda index, at, me: me)


def first_largest__whole_length(x, mesh):
    return _judged(
        x, mesh, 2**30, lax.pmin, lambda index, at, me: me * len(x) + at
    )


def first_largest__left_to_jit(x, mesh):
    return jax.jit(lambda x: x.argmax())(x)


def first_largest__devices_for_numbers(x, mesh):
    n = mesh.shape["x"]
    return _judged(x, mesh, 2**30, lax.pmin, lambda index, at, me: me * n + at)


def _smoothed(x, mesh, rows_around):
    """rows_around(block, send) -> above, below; send(row, by) goes `by` places on, zeros arrive where nothing does."""

    def send(row, by, ring=False):
        n = lax.axis_size("x")
        pairs = [(i, (i + by) % n) for i in range(n) if ring or 0 <= i + by < n]
        return lax.ppermute(row, "x", pairs)

    @jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    def f(block):
        above, below = rows_around(block, send)
        upper = jnp.vstack([above, block[:-1]])
        return (upper + block + jnp.vstack([block[1:], below])) / 3

    return f(x)


def smooth__wrapped(x, mesh):
    return _smoothed(
        x,
        mesh,
        lambda b, send: (send(b[-1], 1, ring=True), send(b[0], -1, ring=True)),
    )


def smooth__seams(x, mesh):
    return _smoothed(x, mesh, lambda b, send: (0 * b[0], 0 * b[0]))


def smooth__from_to_exchanged(x, mesh):
    return _smoothed(x, mesh, lambda b, send: (send(b[-1], -1), send(b[0], 1)))


def smooth__wrong_edge(x, mesh):
    return _smoothed(x, mesh, lambda b, send: (send(b[0], 1), send(b[-1], -1)))


def smooth__whole_shards(x, mesh):
    return _smoothed(x, mesh, lambda b, send: (send(b, 1)[-1], send(b, -1)[0]))


def smooth__ends_repeated(x, mesh):
    def rows(block, send):
        me = lax.axis_index("x")
        above, below = send(block[-1], 1), send(block[0], -1)
        return above + (me == 0) * block[0], below + (
            me == mesh.size - 1
        ) * block[-1]

    return _smoothed(x, mesh, rows)


def smooth__itself_left_out(x, mesh):
    def rows(block, send):
        return send(block[-1], 1), send(block[0], -1)

    return _smoothed(x, mesh, rows) - x / 3
