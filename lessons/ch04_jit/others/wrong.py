"""Mistakes of ch04_jit once more, spelled differently, where that may tell: the name must be the same."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def quiet_product__short_spec(a, b, mesh, spec):
    a = jax.device_put(a, NamedSharding(mesh, P(spec[0])))
    columns = spec[1]
    b = jax.device_put(b, NamedSharding(mesh, P(None, columns)))
    return a, b, jnp.dot(a, b)


def known_to_all__only_asked(x, w, mesh):
    return lax.with_sharding_constraint(x, NamedSharding(mesh, P())) @ w


def _product_gathered(x, w, mesh):
    gather = jax.shard_map(
        lambda x, w: lax.all_gather(x @ w, "x", tiled=True),
        mesh=mesh,
        in_specs=(P("x"), P()),
        out_specs=P(),
        check_vma=False,
    )
    return gather(x, w)


def known_to_all__always_the_product(x, w, mesh):
    return _product_gathered(x, w, mesh)


def known_to_all__the_larger(x, w, mesh):
    larger = max(w.shape)
    if larger == w.shape[0]:
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P())) @ w
    return _product_gathered(x, w, mesh)


def known_to_all__k_beside_m(x, w, mesh):
    rows, columns = x.shape
    if columns < rows:
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P())) @ w
    return _product_gathered(x, w, mesh)


def known_to_all__still_cut(x, w, mesh):
    return jnp.einsum("mk,kn->mn", x, w)


def known_to_all__inner_cut(x, w, mesh):
    columns, rows = (
        NamedSharding(mesh, P(None, "x")),
        NamedSharding(mesh, P("x")),
    )
    x = jax.jit(lambda x: x, out_shardings=columns)(
        lax.with_sharding_constraint(x, columns)
    )
    w = lax.with_sharding_constraint(w, rows)
    return jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, P()))(x, w)
