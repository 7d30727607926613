"""Known wrong answers of ch06_shard_map, as code; words.toml explains them."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def _axes(spec):
    return tuple(jax.tree.leaves(tuple(spec)))


def _sums(x, mesh, spec, total, check_vma=True):
    def both(block):
        return block.sum(keepdims=True), total(block)

    f = jax.shard_map(
        both,
        mesh=mesh,
        in_specs=spec,
        out_specs=(spec, P()),
        check_vma=check_vma,
    )
    return f(x)


def block_sums__forgotten_psum(x, mesh, spec):
    return _sums(x, mesh, spec, jnp.sum)


def block_sums__unchecked(x, mesh, spec):
    return _sums(x, mesh, spec, jnp.sum, check_vma=False)


def block_sums__twice(x, mesh, spec):
    def total(block):
        once = lax.psum(block.sum(), _axes(spec))
        return lax.psum(once, _axes(spec))

    return _sums(x, mesh, spec, total)


def block_sums__all_axes(x, mesh, spec):
    def total(block):
        return lax.psum(block.sum(), mesh.axis_names)

    return _sums(x, mesh, spec, total)


def block_sums__copies_counted(x, mesh, spec):
    def total(block):
        return lax.psum(block.sum(), mesh.axis_names)

    return _sums(x, mesh, spec, total, check_vma=False)


def block_sums__one_axis(x, mesh, spec):
    return _sums(x, mesh, spec, lambda block: lax.psum(block.sum(), "x"))


def block_sums__dimensions_lost(x, mesh, spec):
    def both(block):
        return block.sum(), lax.psum(block.sum(), _axes(spec))

    f = jax.shard_map(both, mesh=mesh, in_specs=spec, out_specs=(spec, P()))
    return f(x)


def block_sums__one_axis_at_a_time(x, mesh, spec):
    def total(block):
        s = block.sum()
        for axis in _axes(spec):
            s = lax.psum(s, axis)
        return s

    return _sums(x, mesh, spec, total)


def block_sums__left_to_jit(x, mesh, spec):
    sums, _ = _sums(x, mesh, spec, lambda block: 0.0)
    return sums, x.sum()


def block_sums__nested_tuple(x, mesh, spec):
    axes = tuple(entry for entry in spec if entry is not None)
    return _sums(x, mesh, spec, lambda block: lax.psum(block.sum(), axes))


def block_sums__laid_out_by_both(x, mesh, spec):
    def both(block):
        return block.sum(keepdims=True), lax.psum(block.sum(), _axes(spec))

    out = P(*mesh.axis_names), P()
    return jax.shard_map(both, mesh=mesh, in_specs=spec, out_specs=out)(x)


def _moments(x, guess, mesh, function):
    return jax.shard_map(
        function, mesh=mesh, in_specs=(P("x", "y"), P()), out_specs=P()
    )(x, guess)


def mean_and_variance__squares(x, guess, mesh):
    def moments(block, guess):
        pair = block.mean(), (block * block).mean()
        mean, square = lax.pmean(pair, mesh.axis_names)
        return mean, square - mean * mean

    return _moments(x, guess, mesh, moments)


def mean_and_variance__within_shards(x, guess, mesh):
    def moments(block, guess):
        return lax.pmean((block.mean(), block.var()), mesh.axis_names)

    return _moments(x, guess, mesh, moments)


def mean_and_variance__guess_forgotten(x, guess, mesh):
    def moments(block, guess):
        d = block - guess
        pair = d.mean(), (d * d).mean()
        mean, square = lax.pmean(pair, mesh.axis_names)
        return mean, square - mean * mean

    return _moments(x, guess, mesh, moments)


def mean_and_variance__around_the_guess(x, guess, mesh):
    def moments(block, guess):
        d = block - guess
        pair = d.mean(), (d * d).mean()
        mean, square = lax.pmean(pair, mesh.axis_names)
        return guess + mean, square

    return _moments(x, guess, mesh, moments)


def mean_and_variance__means_added(x, guess, mesh):
    def moments(block, guess):
        d = block - guess
        pair = d.mean(), (d * d).mean()
        mean, square = lax.psum(pair, mesh.axis_names)
        return guess + mean, square - mean * mean

    return _moments(x, guess, mesh, moments)


def mean_and_variance__one_less(x, guess, mesh):
    def moments(block, guess):
        d = block - guess
        pair = d.mean(), (d * d).mean()
        mean, square = lax.pmean(pair, mesh.axis_names)
        variance = square - mean * mean
        return guess + mean, variance * x.size / (x.size - 1)

    return _moments(x, guess, mesh, moments)


def mean_and_variance__two_rounds(x, guess, mesh):
    def moments(block):
        mean = lax.pmean(block.mean(), ("x", "y"))
        return mean, lax.pmean(((block - mean) ** 2).mean(), ("x", "y"))

    return jax.shard_map(
        moments, mesh=mesh, in_specs=P("x", "y"), out_specs=P()
    )(x)


def mean_and_variance__left_to_jit(x, guess, mesh):
    return x.mean(), x.var()


def _search(x, mesh, choose):
    """choose(wins, at, index, n) -> the answer that all devices agree on."""

    def search(block):
        at = jnp.argmax(block)
        wins = block[at] == lax.pmax(block[at], "x")
        index = lax.axis_index("x") * block.size + at
        return choose(wins, at, index, x.size)

    return jax.shard_map(search, mesh=mesh, in_specs=P("x"), out_specs=P())(x)


def first_largest__local_index(x, mesh):
    def choose(wins, at, index, n):
        return lax.pmin(jnp.where(wins, at, n), "x")

    return _search(x, mesh, choose)


def first_largest__last_one(x, mesh):
    def choose(wins, at, index, n):
        return lax.pmax(jnp.where(wins, index, -1), "x")

    return _search(x, mesh, choose)


def first_largest__zero_for_the_rest(x, mesh):
    def choose(wins, at, index, n):
        return lax.pmin(jnp.where(wins, index, 0), "x")

    return _search(x, mesh, choose)


def first_largest__added(x, mesh):
    def choose(wins, at, index, n):
        return lax.psum(jnp.where(wins, index, 0), "x")

    return _search(x, mesh, choose)


def first_largest__shard_number(x, mesh):
    def choose(wins, at, index, n):
        return lax.pmin(jnp.where(wins, lax.axis_index("x"), n), "x")

    return _search(x, mesh, choose)


def first_largest__whole_length(x, mesh):
    def choose(wins, at, index, n):
        index = lax.axis_index("x") * n + at
        return lax.pmin(jnp.where(wins, index, n * n), "x")

    return _search(x, mesh, choose)


def first_largest__left_to_jit(x, mesh):
    return jnp.argmax(x)


def first_largest__devices_for_numbers(x, mesh):
    def choose(wins, at, index, n):
        index = lax.axis_index("x") * mesh.size + at
        return lax.pmin(jnp.where(wins, index, n * n), "x")

    return _search(x, mesh, choose)


def _steps(x, mesh, function):
    return jax.shard_map(
        function, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None)
    )(x)


def _mean(above, block, below):
    rows = jnp.concatenate([above, block, below])
    return (rows[:-2] + block + rows[2:]) / 3


def _down(mesh):
    return [(i, i + 1) for i in range(mesh.size - 1)]


def _up(mesh):
    return [(i + 1, i) for i in range(mesh.size - 1)]


def smooth__wrapped(x, mesh):
    n = mesh.size

    def step(block):
        down = [(i, (i + 1) % n) for i in range(n)]
        up = [(i, (i - 1) % n) for i in range(n)]
        above = lax.ppermute(block[-1:], "x", down)
        return _mean(above, block, lax.ppermute(block[:1], "x", up))

    return _steps(x, mesh, step)


def smooth__seams(x, mesh):
    def step(block):
        nothing = jnp.zeros_like(block[:1])
        return _mean(nothing, block, nothing)

    return _steps(x, mesh, step)


def smooth__from_to_exchanged(x, mesh):
    def step(block):
        above = lax.ppermute(block[-1:], "x", _up(mesh))
        return _mean(above, block, lax.ppermute(block[:1], "x", _down(mesh)))

    return _steps(x, mesh, step)


def smooth__wrong_edge(x, mesh):
    def step(block):
        above = lax.ppermute(block[:1], "x", _down(mesh))
        return _mean(above, block, lax.ppermute(block[-1:], "x", _up(mesh)))

    return _steps(x, mesh, step)


def smooth__whole_shards(x, mesh):
    def step(block):
        above = lax.ppermute(block, "x", _down(mesh))[-1:]
        return _mean(above, block, lax.ppermute(block, "x", _up(mesh))[:1])

    return _steps(x, mesh, step)


def smooth__ends_repeated(x, mesh):
    def step(block):
        me = lax.axis_index("x")
        above = lax.ppermute(block[-1:], "x", _down(mesh))
        below = lax.ppermute(block[:1], "x", _up(mesh))
        above = jnp.where(me == 0, block[:1], above)
        below = jnp.where(me == mesh.size - 1, block[-1:], below)
        return _mean(above, block, below)

    return _steps(x, mesh, step)


def smooth__itself_left_out(x, mesh):
    def step(block):
        above = lax.ppermute(block[-1:], "x", _down(mesh))
        below = lax.ppermute(block[:1], "x", _up(mesh))
        rows = jnp.concatenate([above, block, below])
        return (rows[:-2] + rows[2:]) / 3

    return _steps(x, mesh, step)
