"""The known mistakes of ch05_constraints, spelled differently."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def at(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


def spread_sums__axes_in_the_other_order(x, mesh):
    return lax.with_sharding_constraint(
        jnp.sum(x, 0), at(mesh, mesh.axis_names)
    )


def spread_sums__only_x(x, mesh):
    return lax.with_sharding_constraint(
        jnp.einsum("rc->c", x), at(mesh, ("x",))
    )


def spread_sums__nothing_said(x, mesh):
    return jax.device_put(x.sum(0), at(mesh, ("y", "x")))


def spread_sums__everywhere(x, mesh):
    return lax.with_sharding_constraint(jnp.sum(x, 0), at(mesh, None))


def spread_sums__moved_first(x, mesh):
    x = lax.with_sharding_constraint(x, at(mesh, None, ("y", "x")))
    return jnp.einsum("rc->c", x)


def spread_sums__rows_summed(x, mesh):
    return lax.with_sharding_constraint(
        jnp.einsum("rc->r", x), at(mesh, ("y", "x"))
    )


def spread_sums__both_axes(x, mesh):
    def part(block):
        return lax.psum(jnp.einsum("rc->c", block), mesh.axis_names)

    f = jax.shard_map(part, mesh=mesh, in_specs=P("x", "y"), out_specs=P("y"))
    return lax.with_sharding_constraint(f(x), at(mesh, ("y", "x")))


def running_totals__nothing_said(x, mesh):
    return lax.cumsum(x, 0)


def running_totals__gathered_along_x(x, mesh):
    x = lax.with_sharding_constraint(x, at(mesh, None, "y"))
    return lax.with_sharding_constraint(
        lax.cumsum(x, 0), at(mesh, None, ("y", "x"))
    )


def running_totals__columns_over_y(x, mesh):
    return lax.with_sharding_constraint(lax.cumsum(x, 0), at(mesh, None, "y"))


def running_totals__everything_everywhere(x, mesh):
    x = lax.with_sharding_constraint(x, at(mesh, None, None))
    return lax.with_sharding_constraint(
        lax.cumsum(x, 0), at(mesh, None, ("y", "x"))
    )


def running_totals__x_before_y(x, mesh):
    return lax.with_sharding_constraint(
        lax.cumsum(x, 0), at(mesh, None, ("x", "y"))
    )


def running_totals__along_the_rows(x, mesh):
    x = lax.with_sharding_constraint(x, at(mesh, None, ("y", "x")))
    return lax.cumsum(x, 1)


def running_totals__each_block(x, mesh):
    n, m = x.shape
    x = lax.with_sharding_constraint(x, at(mesh, None, ("y", "x")))
    pieces = x.reshape(mesh.shape["x"], n // mesh.shape["x"], m)
    return lax.cumsum(pieces, 1).reshape(n, m)


def running_totals__axis_left_out(x, mesh):
    rows = NamedSharding(mesh, P(None, ("y", "x")))
    flat = jnp.ravel(lax.with_sharding_constraint(x, rows))
    return lax.cumsum(flat)


def running_totals__rows_still_cut(x, mesh):
    def part(block):
        inside = jnp.cumsum(block, axis=0)
        totals = lax.all_gather(inside[-1], "x")
        above = jnp.arange(totals.shape[0]) < lax.axis_index("x")
        return inside + jnp.sum(jnp.where(above[:, None], totals, 0), axis=0)

    return jax.shard_map(
        part, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y")
    )(x)


def keep_the_batch_apart__nothing_said(batch, layers, mesh):
    x = lax.with_sharding_constraint(batch, at(mesh, "x", None))
    for w1, w2 in layers:
        x = jnp.einsum("rh,hf->rf", jnp.tanh(jnp.dot(x, w1)), w2)
    return x


def keep_the_batch_apart__only_at_the_end(batch, layers, mesh):
    x = keep_the_batch_apart__nothing_said(batch, layers, mesh)
    return lax.with_sharding_constraint(x, at(mesh, "x"))


def keep_the_batch_apart__only_between(batch, layers, mesh):
    for w1, w2 in layers:
        batch = lax.with_sharding_constraint(batch, at(mesh, "x", None))
        batch = jnp.dot(jnp.tanh(jnp.dot(batch, w1)), w2)
    return batch


def keep_the_batch_apart__hidden_alone(batch, layers, mesh):
    for w1, w2 in layers:
        hidden = jnp.tanh(jnp.dot(batch, w1))
        hidden = lax.with_sharding_constraint(hidden, at(mesh, ("x",), "y"))
        batch = jnp.dot(hidden, w2)
    return batch


def keep_the_batch_apart__columns_cut_too(batch, layers, mesh):
    for w1, w2 in layers:
        out = jnp.dot(jnp.tanh(jnp.dot(batch, w1)), w2)
        batch = lax.with_sharding_constraint(out, at(mesh, "x", ("y",)))
    return batch


def keep_the_batch_apart__hidden_whole(batch, layers, mesh):
    for w1, w2 in layers:
        hidden = jnp.tanh(jnp.dot(batch, w1))
        hidden = lax.with_sharding_constraint(hidden, at(mesh, "x"))
        out = jnp.dot(hidden, w2)
        batch = lax.with_sharding_constraint(out, at(mesh, "x"))
    return batch


def keep_the_batch_apart__hidden_everywhere(batch, layers, mesh):
    for w1, w2 in layers:
        hidden = jnp.tanh(jnp.dot(batch, w1))
        hidden = lax.with_sharding_constraint(hidden, at(mesh, None, None))
        out = jnp.dot(hidden, w2)
        batch = lax.with_sharding_constraint(out, at(mesh, "x"))
    return batch


def keep_the_batch_apart__weights_everywhere(batch, layers, mesh):
    layers = lax.with_sharding_constraint(layers, at(mesh))
    for w1, w2 in layers:
        out = jnp.dot(jnp.tanh(jnp.dot(batch, w1)), w2)
        batch = lax.with_sharding_constraint(out, at(mesh, ("x",), None))
    return batch


def keep_the_batch_apart__result_everywhere(batch, layers, mesh):
    for w1, w2 in layers:
        out = jnp.dot(jnp.tanh(jnp.dot(batch, w1)), w2)
        batch = lax.with_sharding_constraint(out, at(mesh, None, None))
    return batch


def dense__no_out_sharding(x, w, b, mesh):
    out = jnp.matmul(x, w) + b
    return lax.with_sharding_constraint(jax.nn.relu(out), at(mesh, "x", None))


def dense__spec_alone(x, w, b, mesh):
    return jnp.maximum(
        jnp.einsum("rf,fo->ro", x, w, out_sharding=P("x", None)) + b, 0
    )


def dense__everywhere(x, w, b, mesh):
    out = jnp.einsum("rf,fo->ro", x, w, out_sharding=at(mesh, None, None))
    return jnp.maximum(out + b, 0)


def dense__gathered_first(x, w, b, mesh):
    w = jax.reshard(w, at(mesh, None, None))
    return jnp.maximum(jax.reshard(x, at(mesh, "x")) @ w + b, 0)


def dense__without_bias(x, w, b, mesh):
    return jnp.maximum(
        jnp.einsum("rf,fo->ro", x, w, out_sharding=at(mesh, "x", None)), 0
    )


def dense__relu_before_bias(x, w, b, mesh):
    out = jnp.einsum("rf,fo->ro", x, w, out_sharding=at(mesh, "x", None))
    return b + jnp.maximum(out, 0)


def dense__bias_in_the_sum(x, w, b, mesh):
    product = jnp.dot(x, w, out_sharding=at(mesh, "x", None))
    return jax.nn.relu(product + mesh.shape["y"] * b)
