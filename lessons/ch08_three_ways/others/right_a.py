"""Right answers of ch08_three_ways, written another way."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def mlp_by_constraints(x, w1, b1, w2, b2, mesh):
    # speak about the weights, and about where the sum shall lie: h follows
    w1 = lax.with_sharding_constraint(w1, NamedSharding(mesh, P(None, "model")))
    w2 = lax.with_sharding_constraint(w2, NamedSharding(mesh, P("model")))
    h = jnp.tanh(jnp.einsum("rf,fh->rh", x, w1) + b1)
    out = lax.with_sharding_constraint(
        jnp.einsum("rh,hf->rf", h, w2), NamedSharding(mesh, P("data"))
    )
    return h, out + b2


def mlp_by_hand(x, w1, b1, w2, b2, mesh):
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


def mlp_explicit(x, w1, b1, w2, b2, mesh):
    with jax.sharding.use_abstract_mesh(x.aval.sharding.mesh):
        h = jnp.einsum("rf,fh->rh", x, jax.reshard(w1, P(None, "model")))
        h = jnp.tanh(h + jax.reshard(b1, P("model")))
        w2 = jax.reshard(w2, P("model"))
        return h, jnp.einsum(
            "rh,hf->rf", h, w2, out_sharding=P("data", None)
        ) + b2


def collective_matmul(x, w, mesh):
    n = mesh.shape["x"]

    @partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(P("x"), P(None, "x")),
        out_specs=P(None, "x"),
    )
    def part(rows, w):
        size, me = len(rows), lax.axis_index("x")

        def place(out, rows, step):
            return lax.dynamic_update_slice_in_dim(
                out, rows @ w, (me + step) % n * size, 0
            )

        def turn(step, carry):
            out, rows = carry
            there = lax.ppermute(
                rows, "x", [((i + 1) % n, i) for i in range(n)]
            )
            return place(out, rows, step), there

        out = lax.pcast(jnp.zeros((n * size, w.shape[1])), "x", to="varying")
        out, rows = lax.fori_loop(0, n - 1, turn, (out, rows))
        return place(out, rows, n - 1)

    return part(x, w)
