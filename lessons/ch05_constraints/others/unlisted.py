"""Wrong answers of ch05_constraints that its mistakes.py does not know, written after the checks were finished."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.lax import with_sharding_constraint
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _lay(x, mesh, *spec):
    return with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))


def spread_sums__one_row_kept(x, mesh):
    return _lay(x.sum(axis=0, keepdims=True), mesh, None, ("y", "x"))


def spread_sums__spec_of_a_matrix(x, mesh):
    return _lay(x.sum(axis=0), mesh, "x", "y")


def spread_sums__spec_without_mesh(x, mesh):
    return with_sharding_constraint(x.sum(axis=0), P(("y", "x")))


def running_totals__as_a_product(x, mesh):
    n = x.shape[0]
    return _lay(jnp.tril(jnp.ones((n, n))) @ x, mesh, None, ("y", "x"))


def running_totals__without_the_number_itself(x, mesh):
    rows = _lay(x, mesh, None, ("y", "x"))
    return jnp.cumsum(rows, axis=0) - rows


def _stack(x, layers, mesh, out, act=jnp.tanh):
    for w1, w2 in layers:
        x = _lay(act(x @ w1) @ w2, mesh, *out)
    return x


def keep_the_batch_apart__relu_for_tanh(batch, layers, mesh):
    return _stack(batch, layers, mesh, ("x", None), act=jax.nn.relu)


def keep_the_batch_apart__rows_along_y(batch, layers, mesh):
    return _stack(batch, layers, mesh, ("y", None))


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


def keep_the_batch_apart__everywhere_until_the_end(batch, layers, mesh):
    return _lay(_stack(batch, layers, mesh, ()), mesh, "x", None)


def keep_the_batch_apart__columns_too_until_the_end(batch, layers, mesh):
    return _lay(_stack(batch, layers, mesh, ("x", "y")), mesh, "x", None)


def keep_the_batch_apart__columns_at_the_end(batch, layers, mesh):
    for w1, w2 in layers:
        batch = jnp.tanh(batch @ w1) @ w2
    return _lay(batch, mesh, "x", "y")


def dense__columns_cut_too(x, w, b, mesh):
    cut = NamedSharding(mesh, P("x", "y"))
    return jax.nn.relu(jnp.dot(x, w, out_sharding=cut) + b)


def dense__mesh_set_inside(x, w, b, mesh):
    with jax.set_mesh(mesh):
        return jax.nn.relu(jnp.dot(x, w, out_sharding=P("x", None)) + b)


def dense__relu_of_each_part(x, w, b, mesh):
    def part(x, w, b):
        return lax.psum(jax.nn.relu(x @ w + b), "y")

    specs = P("x", "y"), P("y", None), P()
    return jax.shard_map(
        part, mesh=mesh, in_specs=specs, out_specs=P("x", None)
    )(x, w, b)
