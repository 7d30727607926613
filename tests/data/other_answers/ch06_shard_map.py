"""Other answers to the exercises of ch06_shard_map: right ones, known mistakes, and other wrong ones."""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def block_sums__right(x, mesh, spec):
    names = [name for name in mesh.axis_names if name in str(spec)]
    each = jax.shard_map(lambda b: b.sum().reshape(1, 1), mesh=mesh, out_specs=spec)
    total = jax.shard_map(
        lambda b: lax.psum(b, names).sum(),
        mesh=mesh,
        in_specs=spec,
        out_specs=P(),
    )
    sums = each(x)
    return sums, total(sums)


def block_sums__right_otherwise(x, mesh, spec):
    with_copies = [n for n in mesh.axis_names if n not in str(spec)]

    def f(block):
        mine = jnp.einsum("ij->", block)
        copies = math.prod(mesh.shape[n] for n in with_copies)
        return mine[None, None], lax.psum(mine / copies, mesh.axis_names)

    return jax.shard_map(f, mesh=mesh, in_specs=(spec,), out_specs=(spec, P()), check_vma=False)(x)


def block_sums__forgotten_psum(x, mesh, spec):
    @partial(jax.shard_map, mesh=mesh, out_specs=(spec, P()))
    def both(block):
        total = jnp.einsum("ij->", block)
        return total[None, None], total

    return both(x)


def _names(spec):
    return [n for entry in spec for n in ((entry,) if isinstance(entry, str) else entry or ())]


def _each(x, mesh, spec):
    return jax.shard_map(
        lambda b: jnp.sum(b).reshape(1, 1),
        mesh=mesh,
        in_specs=spec,
        out_specs=spec,
    )(x)


def block_sums__twice(x, mesh, spec):
    names, sums = _names(spec), _each(x, mesh, spec)
    once = jax.shard_map(
        lambda b: lax.psum(b[0, 0], names),
        mesh=mesh,
        in_specs=spec,
        out_specs=P(),
    )(sums)
    return sums, jax.shard_map(lambda s: lax.psum(s, names), mesh=mesh, in_specs=P(), out_specs=P())(once)


def _axes(spec):
    return tuple(jax.tree.leaves(tuple(spec)))


def block_sums__total_in_every_block(x, mesh, spec):
    def both(block):
        total = lax.psum(block.sum(keepdims=True), _axes(spec))
        return lax.pcast(total, _axes(spec), to="varying"), total[0, 0]

    return jax.shard_map(both, mesh=mesh, in_specs=spec, out_specs=(spec, P()))(x)


def mean_and_variance__right(x, guess, mesh):
    @jax.shard_map(mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=(P(), P()))
    def one_round(block, guess):
        d = block - guess
        sums = lax.psum({"d": d.sum(), "square": jnp.square(d).sum()}, ("y", "x"))
        mean = sums["d"] / x.size
        return guess + mean, sums["square"] / x.size - mean**2

    return one_round(x, guess)


def mean_and_variance__right_otherwise(x, guess, mesh):
    def f(block, guess):
        d = (block - guess).ravel()
        powers = jnp.stack([d.sum(), d @ d])
        first, second = lax.psum(powers, ("x", "y")) / x.size
        return jnp.stack([guess + first, second - first**2])

    both = jax.shard_map(f, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=P(None))(x, guess)
    return both[0], both[1]


def _both(x, guess, mesh, f):
    stacked = jax.shard_map(f, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=P())(x, guess)
    return stacked[0], stacked[1]


def _powers(block, guess, n):
    d = block - guess
    return lax.psum(jnp.stack([d.sum(), (d**2).sum()]), ("x", "y")) / n


def mean_and_variance__guess_forgotten(x, guess, mesh):
    def f(block, guess):
        first, second = _powers(block, guess, x.size)
        return jnp.stack([first, second - first**2])

    return _both(x, guess, mesh, f)


def _moments(x, guess, mesh, function):
    return jax.shard_map(function, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=P())(x, guess)


def mean_and_variance__one_array(x, guess, mesh):
    def moments(block, guess):
        d = block - guess
        mean, square = lax.pmean(jnp.stack([d.mean(), (d * d).mean()]), ("x", "y"))
        return jnp.stack([guess + mean, square - mean * mean])

    return _moments(x, guess, mesh, moments)


def first_largest__right(x, mesh):
    @partial(jax.shard_map, mesh=mesh, out_specs=P())
    def search(block):
        here = lax.iota(jnp.int32, block.shape[0]) + block.shape[0] * lax.axis_index("x")
        wins = block >= lax.pmax(block.max(), "x")
        return -lax.pmax(-jnp.min(here, where=wins, initial=x.shape[0]), "x")

    return search(x)


def first_largest__right_otherwise(x, mesh):
    def f(block):
        here = jnp.argmax(block)
        best = lax.pmax(jnp.max(block), "x")
        nobody = jnp.iinfo(jnp.int32).max
        start = lax.axis_index("x") * len(block)
        candidate = lax.select(block[here] == best, start + here, jnp.full_like(here, nobody))
        return lax.pmin(candidate[None], "x")[0]

    cut = jax.device_put(x, NamedSharding(mesh, P("x")))
    return jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P())(cut)


def _judged(x, mesh, losers, agree, of):
    """agree(of(index, at, me)) over the shards that hold the largest; the others offer `losers`."""

    @jax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=P())
    def f(block):
        mine, me = block.max(), lax.axis_index("x")
        at = jnp.argmax(block == mine)
        offer = of(me * len(block) + at, at, me)
        return agree(
            lax.select(mine == lax.pmax(mine, "x"), offer, jnp.full_like(offer, losers)),
            "x",
        )

    return f(x)


def first_largest__whole_length(x, mesh):
    return _judged(x, mesh, 2**30, lax.pmin, lambda index, at, me: me * len(x) + at)


def _search(x, mesh, f, **options):
    return jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P(), **options)(x)


def first_largest__the_number_itself(x, mesh):
    return _search(x, mesh, lambda block: lax.pmax(block.max(), "x"))


def first_largest__all_numbers_gathered(x, mesh):
    def search(block):
        return jnp.argmax(lax.all_gather(block, "x", tiled=True))

    return _search(x, mesh, search, check_vma=False)


def first_largest__shards_of_size_one(x, mesh):
    def search(block):
        at = jnp.argmax(block)
        mine = block[at]
        index = lax.axis_index("x") + at
        return lax.pmin(jnp.where(mine == lax.pmax(mine, "x"), index, x.size), "x")

    return _search(x, mesh, search)


def first_largest__index_as_float(x, mesh):
    def search(block):
        at = jnp.argmax(block)
        index = (lax.axis_index("x") * block.size + at).astype(x.dtype)
        top = lax.pmax(block[at], "x")
        return lax.pmin(jnp.where(block[at] == top, index, jnp.inf), "x")

    return _search(x, mesh, search)


def smooth__right(x, mesh):
    def shifted(block, by):
        n = lax.axis_size("x")
        pairs = [(i, i + by) for i in range(n) if 0 <= i + by < n]
        edge = lax.ppermute(block[-1:] if by > 0 else block[:1], "x", pairs)
        moved = jnp.roll(block, by, axis=0)
        return moved.at[0 if by > 0 else -1].set(edge[0])

    return jax.shard_map(
        lambda b: (b + shifted(b, 1) + shifted(b, -1)) / 3,
        mesh=mesh,
        out_specs=P("x", None),
    )(x)


def smooth__right_otherwise(x, mesh):
    n = mesh.shape["x"]

    def f(block):
        me = lax.axis_index("x")
        # a ring; what came around the end is struck out
        above = lax.ppermute(block[-1], "x", [(i, (i + 1) % n) for i in range(n)]) * (me > 0)
        below = lax.ppermute(block[0], "x", [((i + 1) % n, i) for i in range(n)]) * (me < n - 1)
        rows = jnp.vstack([above, block, below])
        k = len(block)
        weights = sum(jnp.eye(k, k + 2, j) for j in range(3)) / 3
        return jnp.matmul(weights, rows, precision="highest")

    return jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


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


def smooth__whole_shards(x, mesh):
    return _smoothed(x, mesh, lambda b, send: (send(b, 1)[-1], send(b, -1)[0]))


def _edges(mesh):
    down = [(i, i + 1) for i in range(mesh.size - 1)]
    return down, [(j, i) for i, j in down]


def _steps(x, mesh, f):
    return jax.shard_map(f, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None))(x)


def smooth__only_those_that_exist(x, mesh):
    down, up = _edges(mesh)

    def step(block):
        ones = jnp.ones_like(block[:, :1])
        rows = jnp.concatenate([block, ones], axis=1)
        above, below = (
            lax.ppermute(rows[-1:], "x", down),
            lax.ppermute(rows[:1], "x", up),
        )
        all_rows = jnp.concatenate([above, rows, below])
        total = all_rows[:-2] + rows + all_rows[2:]
        return total[:, :-1] / total[:, -1:]

    return _steps(x, mesh, step)


def smooth__along_the_columns(x, mesh):
    def step(block):
        wide = jnp.pad(block, ((0, 0), (1, 1)))
        return (wide[:, :-2] + block + wide[:, 2:]) / 3

    return _steps(x, mesh, step)


def smooth__rows_gathered(x, mesh):
    def step(block):
        whole = jnp.pad(lax.all_gather(block, "x", tiled=True), ((1, 1), (0, 0)))
        start = lax.axis_index("x") * len(block)
        rows = lax.dynamic_slice_in_dim(whole, start, len(block) + 2)
        return (rows[:-2] + block + rows[2:]) / 3

    return _steps(x, mesh, step)


def smooth__rows_sent_in_a_branch(x, mesh):
    down, up = _edges(mesh)

    def step(block):
        me, none = lax.axis_index("x"), jnp.zeros_like(block[:1])
        above = lax.cond(me > 0, lambda: lax.ppermute(block[-1:], "x", down), lambda: none)
        below = lax.cond(
            me < mesh.size - 1,
            lambda: lax.ppermute(block[:1], "x", up),
            lambda: none,
        )
        rows = jnp.concatenate([above, block, below])
        return (rows[:-2] + block + rows[2:]) / 3

    return _steps(x, mesh, step)
