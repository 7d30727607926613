"""Known wrong answers of ch05_constraints; words.toml explains them."""

import jax
import jax.numpy as jnp
from jax.lax import with_sharding_constraint
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _lay(x, mesh, *spec):
    return with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))


def spread_sums__axes_in_the_other_order(x, mesh):
    return _lay(x.sum(axis=0), mesh, ("x", "y"))


def spread_sums__only_x(x, mesh):
    return _lay(x.sum(axis=0), mesh, "x")


def spread_sums__nothing_said(x, mesh):
    return x.sum(axis=0)


def spread_sums__everywhere(x, mesh):
    return _lay(x.sum(axis=0), mesh)


def spread_sums__moved_first(x, mesh):
    return _lay(x, mesh, None, ("y", "x")).sum(axis=0)


def spread_sums__rows_summed(x, mesh):
    return _lay(x.sum(axis=1), mesh, ("y", "x"))


def spread_sums__both_axes(x, mesh):
    sums = jax.shard_map(
        lambda block: jax.lax.psum(block.sum(axis=0), ("x", "y")),
        mesh=mesh,
        in_specs=P("x", "y"),
        out_specs=P("y"),
    )
    return _lay(sums(x), mesh, ("y", "x"))


def running_totals__nothing_said(x, mesh):
    return jnp.cumsum(x, axis=0)


def running_totals__gathered_along_x(x, mesh):
    rows = _lay(x, mesh, None, "y")
    return _lay(jnp.cumsum(rows, axis=0), mesh, None, ("y", "x"))


def running_totals__columns_over_y(x, mesh):
    return jnp.cumsum(_lay(x, mesh, None, "y"), axis=0)


def running_totals__everything_everywhere(x, mesh):
    rows = _lay(x, mesh)
    return _lay(jnp.cumsum(rows, axis=0), mesh, None, ("y", "x"))


def running_totals__x_before_y(x, mesh):
    return jnp.cumsum(_lay(x, mesh, None, ("x", "y")), axis=0)


def running_totals__along_the_rows(x, mesh):
    return jnp.cumsum(_lay(x, mesh, None, ("y", "x")), axis=1)


def running_totals__each_block(x, mesh):
    cut = P("x", "y")
    totals = jax.shard_map(
        lambda block: jnp.cumsum(block, axis=0),
        mesh=mesh,
        in_specs=cut,
        out_specs=cut,
    )
    return _lay(totals(x), mesh, None, ("y", "x"))


def running_totals__axis_left_out(x, mesh):
    return jnp.cumsum(_lay(x, mesh, None, ("y", "x")))


def running_totals__rows_still_cut(x, mesh):
    def part(block):
        inside = jnp.cumsum(block, axis=0)
        ends = jax.lax.all_gather(inside[-1], "x")
        above = jnp.cumsum(ends, axis=0) - ends
        return inside + above[jax.lax.axis_index("x")]

    cut = P("x", "y")
    return jax.shard_map(part, mesh=mesh, in_specs=cut, out_specs=cut)(x)


def _keep(value, spec, mesh):
    return value if spec is None else _lay(value, mesh, *spec)


def _stack(x, layers, mesh, weights=None, hidden=None, out=None):
    """The layers, with a constraint where a spec is given."""
    for pair in layers:
        w1, w2 = (_keep(w, weights, mesh) for w in pair)
        between = _keep(jnp.tanh(x @ w1), hidden, mesh)
        x = _keep(between @ w2, out, mesh)
    return x


def keep_the_batch_apart__nothing_said(batch, layers, mesh):
    return _stack(batch, layers, mesh)


def keep_the_batch_apart__only_at_the_end(batch, layers, mesh):
    return _lay(_stack(batch, layers, mesh), mesh, "x", None)


def keep_the_batch_apart__only_between(batch, layers, mesh):
    x = _stack(batch, layers[:-1], mesh, out=("x", None))
    return _stack(x, layers[-1:], mesh)


def keep_the_batch_apart__hidden_alone(batch, layers, mesh):
    return _stack(batch, layers, mesh, hidden=("x", "y"))


def keep_the_batch_apart__columns_cut_too(batch, layers, mesh):
    return _stack(batch, layers, mesh, out=("x", "y"))


def keep_the_batch_apart__hidden_whole(batch, layers, mesh):
    return _stack(batch, layers, mesh, hidden=("x", None), out=("x", None))


def keep_the_batch_apart__hidden_everywhere(batch, layers, mesh):
    return _stack(batch, layers, mesh, hidden=(), out=("x", None))


def keep_the_batch_apart__weights_everywhere(batch, layers, mesh):
    return _stack(batch, layers, mesh, weights=(), out=("x", None))


def keep_the_batch_apart__result_everywhere(batch, layers, mesh):
    return _stack(batch, layers, mesh, out=())


def dense__no_out_sharding(x, w, b, mesh):
    return jax.nn.relu(x @ w + b)


def dense__spec_alone(x, w, b, mesh):
    return jax.nn.relu(jnp.dot(x, w, out_sharding=P("x", None)) + b)


def dense__everywhere(x, w, b, mesh):
    whole = NamedSharding(mesh, P())
    return jax.nn.relu(jnp.dot(x, w, out_sharding=whole) + b)


def dense__gathered_first(x, w, b, mesh):
    x = jax.reshard(x, NamedSharding(mesh, P("x", None)))
    w = jax.reshard(w, NamedSharding(mesh, P()))
    return jax.nn.relu(x @ w + b)


def dense__without_bias(x, w, b, mesh):
    rows = NamedSharding(mesh, P("x", None))
    return jax.nn.relu(jnp.dot(x, w, out_sharding=rows))


def dense__relu_before_bias(x, w, b, mesh):
    rows = NamedSharding(mesh, P("x", None))
    return jax.nn.relu(jnp.dot(x, w, out_sharding=rows)) + b


def dense__bias_in_the_sum(x, w, b, mesh):
    specs = P("x", "y"), P("y", None), P()
    part = jax.shard_map(
        lambda x, w, b: jax.lax.psum(x @ w + b, "y"),
        mesh=mesh,
        in_specs=specs,
        out_specs=P("x", None),
    )
    return jax.nn.relu(part(x, w, b))
