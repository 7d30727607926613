"""Wrong answers of ch06_shard_map that its mistakes.py does not know, written after the checks were finished."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def _axes(spec):
    return tuple(jax.tree.leaves(tuple(spec)))


def block_sums__psum_of_the_block(x, mesh, spec):
    def both(block):
        return block.sum(keepdims=True), lax.psum(block, _axes(spec)).sum()

    return jax.shard_map(both, mesh=mesh, in_specs=spec, out_specs=(spec, P()))(
        x
    )


def block_sums__total_with_dimensions(x, mesh, spec):
    def both(block):
        s = block.sum(keepdims=True)
        return s, lax.psum(s, _axes(spec))

    return jax.shard_map(both, mesh=mesh, in_specs=spec, out_specs=(spec, P()))(
        x
    )


def block_sums__mean_of_the_blocks(x, mesh, spec):
    def both(block):
        return block.sum(keepdims=True), lax.pmean(block.sum(), _axes(spec))

    return jax.shard_map(both, mesh=mesh, in_specs=spec, out_specs=(spec, P()))(
        x
    )


def block_sums__total_in_every_block(x, mesh, spec):
    def both(block):
        total = lax.psum(block.sum(keepdims=True), _axes(spec))
        return lax.pcast(total, _axes(spec), to="varying"), total[0, 0]

    return jax.shard_map(both, mesh=mesh, in_specs=spec, out_specs=(spec, P()))(
        x
    )


def _moments(x, guess, mesh, function):
    return jax.shard_map(
        function, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=P()
    )(x, guess)


def mean_and_variance__three_numbers_sent(x, guess, mesh):
    def moments(block, guess):
        d = block - guess
        m = d.mean()
        mean, within, between = lax.pmean((m, d.var(), m * m), ("x", "y"))
        return guess + mean, within + between - mean * mean

    return _moments(x, guess, mesh, moments)


def mean_and_variance__deviation(x, guess, mesh):
    def moments(block, guess):
        d = block - guess
        mean, square = lax.pmean((d.mean(), (d * d).mean()), ("x", "y"))
        return guess + mean, jnp.sqrt(square - mean * mean)

    return _moments(x, guess, mesh, moments)


def mean_and_variance__one_array(x, guess, mesh):
    def moments(block, guess):
        d = block - guess
        mean, square = lax.pmean(
            jnp.stack([d.mean(), (d * d).mean()]), ("x", "y")
        )
        return jnp.stack([guess + mean, square - mean * mean])

    return _moments(x, guess, mesh, moments)


def mean_and_variance__along_one_axis(x, guess, mesh):
    def moments(block, guess):
        d = block - guess
        mean, square = lax.pmean((d.mean(), (d * d).mean()), "x")
        return guess + mean, square - mean * mean

    return _moments(x, guess, mesh, moments)


def _search(x, mesh, f, **options):
    return jax.shard_map(
        f, mesh=mesh, in_specs=P("x"), out_specs=P(), **options
    )(x)


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
        return lax.pmin(
            jnp.where(mine == lax.pmax(mine, "x"), index, x.size), "x"
        )

    return _search(x, mesh, search)


def first_largest__index_as_float(x, mesh):
    def search(block):
        at = jnp.argmax(block)
        index = (lax.axis_index("x") * block.size + at).astype(x.dtype)
        top = lax.pmax(block[at], "x")
        return lax.pmin(jnp.where(block[at] == top, index, jnp.inf), "x")

    return _search(x, mesh, search)


def _edges(mesh):
    down = [(i, i + 1) for i in range(mesh.size - 1)]
    return down, [(j, i) for i, j in down]


def _steps(x, mesh, f):
    return jax.shard_map(
        f, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None)
    )(x)


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


def smooth__twice_the_middle(x, mesh):
    down, up = _edges(mesh)

    def step(block):
        above, below = (
            lax.ppermute(block[-1:], "x", down),
            lax.ppermute(block[:1], "x", up),
        )
        rows = jnp.concatenate([above, block, below])
        return (rows[:-2] + 2 * block + rows[2:]) / 4

    return _steps(x, mesh, step)


def smooth__along_the_columns(x, mesh):
    def step(block):
        wide = jnp.pad(block, ((0, 0), (1, 1)))
        return (wide[:, :-2] + block + wide[:, 2:]) / 3

    return _steps(x, mesh, step)


def smooth__rows_gathered(x, mesh):
    def step(block):
        whole = jnp.pad(
            lax.all_gather(block, "x", tiled=True), ((1, 1), (0, 0))
        )
        start = lax.axis_index("x") * len(block)
        rows = lax.dynamic_slice_in_dim(whole, start, len(block) + 2)
        return (rows[:-2] + block + rows[2:]) / 3

    return _steps(x, mesh, step)


def smooth__rows_sent_in_a_branch(x, mesh):
    down, up = _edges(mesh)

    def step(block):
        me, none = lax.axis_index("x"), jnp.zeros_like(block[:1])
        above = lax.cond(
            me > 0, lambda: lax.ppermute(block[-1:], "x", down), lambda: none
        )
        below = lax.cond(
            me < mesh.size - 1,
            lambda: lax.ppermute(block[:1], "x", up),
            lambda: none,
        )
        rows = jnp.concatenate([above, block, below])
        return (rows[:-2] + block + rows[2:]) / 3

    return _steps(x, mesh, step)
