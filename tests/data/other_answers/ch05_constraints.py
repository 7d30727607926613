"""Other answers to the exercises of ch05_constraints: right ones, known mistakes, and other wrong ones."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import with_sharding_constraint
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def spread_sums__right(x, mesh):
    sums = jnp.ones(x.shape[0]) @ x
    for spec in (P("y"), P(("y", "x"))):
        sums = with_sharding_constraint(sums, NamedSharding(mesh, spec))
    return sums


def spread_sums__right_otherwise(x, mesh):
    # nobody needs the whole sum: half of what the budget allows
    def part(block):
        return lax.psum_scatter(block.sum(axis=0), "x", tiled=True)

    return jax.shard_map(part, mesh=mesh, in_specs=P("x", "y"), out_specs=P(("y", "x")))(x)


def at(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


def spread_sums__moved_first(x, mesh):
    x = lax.with_sharding_constraint(x, at(mesh, None, ("y", "x")))
    return jnp.einsum("rc->c", x)


def _lay(x, mesh, *spec):
    return with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))


def spread_sums__one_row_kept(x, mesh):
    return _lay(x.sum(axis=0, keepdims=True), mesh, None, ("y", "x"))


def running_totals__right(x, mesh):
    # asked for at the end, the layout reaches back to the input by itself
    return with_sharding_constraint(jnp.cumsum(x, axis=0), NamedSharding(mesh, P(None, ("y", "x"))))


def running_totals__right_otherwise(x, mesh):
    def part(block):
        columns = lax.all_to_all(block, "x", split_axis=1, concat_axis=0, tiled=True)
        return jnp.cumsum(columns, axis=0)

    return jax.shard_map(part, mesh=mesh, in_specs=P("x", "y"), out_specs=P(None, ("y", "x")))(x)


def running_totals__columns_over_y(x, mesh):
    return lax.with_sharding_constraint(lax.cumsum(x, 0), at(mesh, None, "y"))


def running_totals__each_block(x, mesh):
    n, m = x.shape
    x = lax.with_sharding_constraint(x, at(mesh, None, ("y", "x")))
    pieces = x.reshape(mesh.shape["x"], n // mesh.shape["x"], m)
    return lax.cumsum(pieces, 1).reshape(n, m)


def running_totals__as_a_product(x, mesh):
    n = x.shape[0]
    return _lay(jnp.tril(jnp.ones((n, n))) @ x, mesh, None, ("y", "x"))


def running_totals__without_the_number_itself(x, mesh):
    rows = _lay(x, mesh, None, ("y", "x"))
    return jnp.cumsum(rows, axis=0) - rows


def keep_the_batch_apart__right(batch, layers, mesh):
    # whole along "x", the weights leave the rows nowhere else to go
    for w1, w2 in layers:
        w1 = with_sharding_constraint(w1, NamedSharding(mesh, P(None, "y")))
        w2 = with_sharding_constraint(w2, NamedSharding(mesh, P("y", None)))
        batch = jnp.tanh(batch @ w1) @ w2
    return batch


def keep_the_batch_apart__right_otherwise(batch, layers, mesh):
    def part(rows, layers):
        for w1, w2 in layers:
            w1 = lax.all_gather(w1, "x", axis=0, tiled=True)
            w2 = lax.all_gather(w2, "x", axis=1, tiled=True)
            rows = lax.psum(jnp.tanh(rows @ w1) @ w2, "y")
        return rows

    specs = P("x", None), (P("x", "y"), P("y", "x"))
    return jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(specs[0], [specs[1]] * len(layers)),
        out_specs=specs[0],
    )(batch, layers)


def keep_the_batch_apart__hidden_whole(batch, layers, mesh):
    for w1, w2 in layers:
        hidden = jnp.tanh(jnp.dot(batch, w1))
        hidden = lax.with_sharding_constraint(hidden, at(mesh, "x"))
        out = jnp.dot(hidden, w2)
        batch = lax.with_sharding_constraint(out, at(mesh, "x"))
    return batch


def _stack(x, layers, mesh, out, act=jnp.tanh):
    for w1, w2 in layers:
        x = _lay(act(x @ w1) @ w2, mesh, *out)
    return x


def keep_the_batch_apart__relu_for_tanh(batch, layers, mesh):
    return _stack(batch, layers, mesh, ("x", None), act=jax.nn.relu)


def keep_the_batch_apart__tanh_at_the_end(batch, layers, mesh):
    for w1, w2 in layers:
        batch = _lay(jnp.tanh(batch @ w1 @ w2), mesh, "x", None)
    return batch


def keep_the_batch_apart__last_layer_first(batch, layers, mesh):
    return _stack(batch, layers[::-1], mesh, ("x", None))


def keep_the_batch_apart__every_layer_from_the_batch(batch, layers, mesh):
    return sum(_stack(batch, [pair], mesh, ("x", None)) for pair in layers)


def keep_the_batch_apart__hidden_and_the_end(batch, layers, mesh):
    for w1, w2 in layers:
        batch = _lay(jnp.tanh(batch @ w1), mesh, "x", "y") @ w2
    return _lay(batch, mesh, "x", None)


def keep_the_batch_apart__columns_at_the_end(batch, layers, mesh):
    for w1, w2 in layers:
        batch = jnp.tanh(batch @ w1) @ w2
    return _lay(batch, mesh, "x", "y")


def dense__right(x, w, b, mesh):
    with jax.sharding.use_abstract_mesh(x.aval.sharding.mesh):
        out = jnp.einsum("rf,fo->ro", x, w, out_sharding=P("x", None))
    return jnp.maximum(out + b, 0)


def dense__right_otherwise(x, w, b, mesh):
    rows = NamedSharding(mesh, P("x", None))
    out = lax.dot_general(x, w, (((1,), (0,)), ((), ())), out_sharding=rows)
    return jax.nn.relu(out + b[None, :])


def dense__gathered_first(x, w, b, mesh):
    w = jax.reshard(w, at(mesh, None, None))
    return jnp.maximum(jax.reshard(x, at(mesh, "x")) @ w + b, 0)


def dense__relu_of_each_part(x, w, b, mesh):
    def part(x, w, b):
        return lax.psum(jax.nn.relu(x @ w + b), "y")

    specs = P("x", "y"), P("y", None), P()
    return jax.shard_map(part, mesh=mesh, in_specs=specs, out_specs=P("x", None))(x, w, b)
