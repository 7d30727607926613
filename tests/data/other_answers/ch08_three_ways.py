"""Other answers to the exercises of ch08_three_ways: right ones, known mistakes, and other wrong ones."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _lay(x, mesh, *spec):
    return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))


def mlp_by_constraints__everything_everywhere(x, w1, b1, w2, b2, mesh):
    h = _lay(jnp.tanh(x @ w1 + b1), mesh, "data", None)
    out = _lay(h @ w2 + b2, mesh, "data", None)
    return _lay(h, mesh, "data", "model"), out


def mlp_by_hand__right(x, w1, b1, w2, b2, mesh):
    # by hand along "model" only: the rows are the compiler's
    @partial(
        jax.shard_map,
        mesh=mesh,
        axis_names={"model"},
        in_specs=(P(), P(None, "model"), P("model"), P("model", None), P()),
        out_specs=(P(None, "model"), P()),
    )
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.psum(h @ w2, "model") + b2

    return part(x, w1, b1, w2, b2)


def mlp_by_hand__hidden_gathered(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, lax.all_gather(h, "model", axis=1, tiled=True) @ w2 + b2

    ins, outs = (P("data"), P(None, "model"), P("model"), P(), P()), (P("data", "model"), P("data"))
    return jax.shard_map(part, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False)(x, w1, b1, w2, b2)


def mlp_by_hand__everything_everywhere(x, w1, b1, w2, b2, mesh):
    def part(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        own = h.shape[1] // lax.axis_size("model")
        start = lax.axis_index("model") * own
        return lax.dynamic_slice_in_dim(h, start, own, 1), h @ w2 + b2

    ins, outs = (P("data"), P(), P(), P(), P()), (P("data", "model"), P("data"))
    return jax.shard_map(part, mesh=mesh, in_specs=ins, out_specs=outs)(x, w1, b1, w2, b2)


def mlp_explicit__right(x, w1, b1, w2, b2, mesh):
    with jax.sharding.use_abstract_mesh(x.aval.sharding.mesh):
        h = jnp.einsum("rf,fh->rh", x, jax.reshard(w1, P(None, "model")))
        h = jnp.tanh(h + jax.reshard(b1, P("model")))
        w2 = jax.reshard(w2, P("model"))
        return h, jnp.einsum("rh,hf->rf", h, w2, out_sharding=P("data", None)) + b2


def mlp_explicit__right_otherwise(x, w1, b1, w2, b2, mesh):
    outs = NamedSharding(mesh, P("data", "model")), NamedSharding(mesh, P("data", None))

    @jax.sharding.auto_axes
    def f(x, w1, b1, w2, b2):
        h = jnp.tanh(x @ w1 + b1)
        return h, h @ w2 + b2

    w2 = jax.reshard(w2, NamedSharding(mesh, P("model")))
    return f(x, w1, b1, w2, b2, out_sharding=outs)


def mlp_explicit__set_inside(x, w1, b1, w2, b2, mesh):
    jax.set_mesh(mesh)
    w1, w2 = jax.reshard(w1, P(None, "model")), jax.reshard(w2, P("model", None))
    h = jnp.tanh(x @ w1 + b1)
    return h, jnp.dot(h, w2, out_sharding=P("data", None)) + b2


def mlp_explicit__everything_everywhere(x, w1, b1, w2, b2, mesh):
    h = jnp.tanh(x @ w1 + b1)
    out = h @ w2 + b2
    return jax.reshard(h, NamedSharding(mesh, P("data", "model"))), out


def collective_matmul__right(x, w, mesh):
    n = mesh.shape["x"]

    @partial(jax.shard_map, mesh=mesh, in_specs=(P("x"), P(None, "x")), out_specs=P(None, "x"))
    def part(rows, w):
        size, me = len(rows), lax.axis_index("x")

        def place(out, rows, step):
            return lax.dynamic_update_slice_in_dim(out, rows @ w, (me + step) % n * size, 0)

        def turn(step, carry):
            out, rows = carry
            there = lax.ppermute(rows, "x", [((i + 1) % n, i) for i in range(n)])
            return place(out, rows, step), there

        out = lax.pcast(jnp.zeros((n * size, w.shape[1])), "x", to="varying")
        out, rows = lax.fori_loop(0, n - 1, turn, (out, rows))
        return place(out, rows, n - 1)

    return part(x, w)


def collective_matmul__right_otherwise(x, w, mesh):
    def part(rows, w):
        # in both directions: whole blocks, half as many steps
        n, me = lax.axis_size("x"), lax.axis_index("x")
        found, right, left = {0: rows @ w}, rows, rows
        for k in range(1, n // 2 + 1):
            right = lax.ppermute(right, "x", [(i, (i + 1) % n) for i in range(n)])
            found[-k % n] = right @ w  # of device me - k
            if k < n - k:
                left = lax.ppermute(left, "x", [(i, (i - 1) % n) for i in range(n)])
                found[k] = left @ w
        parts = jnp.stack([found[k] for k in range(n)])
        return jnp.roll(parts, me, axis=0).reshape(-1, w.shape[1])

    specs = P("x"), P(None, "x")
    return jax.shard_map(part, mesh=mesh, in_specs=specs, out_specs=P(None, "x"))(x, w)


def collective_matmul__columns_travel(x, w, mesh):
    n = mesh.size

    def part(rows, w):
        out = jnp.zeros((n, len(rows), w.shape[1]))
        for step in range(n):
            out = out.at[(lax.axis_index("x") - step) % n].set(rows @ w)
            if step < n - 1:
                w = lax.ppermute(w, "x", [(i, (i + 1) % n) for i in range(n)])
        return out.swapaxes(0, 1).reshape(len(rows), -1)

    return jax.shard_map(part, mesh=mesh, in_specs=(P("x"), P(None, "x")), out_specs=P("x"))(x, w)
