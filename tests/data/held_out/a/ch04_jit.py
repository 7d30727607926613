from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jax.lax import with_sharding_constraint


# what: only a letter of both operands is summed over, not a letter of one
def product_layout(subscripts, left, right):
    operands, result = subscripts.replace(" ", "").split("->")
    one, two = operands.split(",")
    cut = dict(zip(one, tuple(left))) | dict(zip(two, tuple(right)))
    summed = (set(one) & set(two)) - set(result)
    axes = jax.tree.leaves([cut.get(letter) for letter in summed])
    return P(*(cut.get(letter) for letter in result)), sorted(axes)


# what: lets an axis that spec leaves free cut the inner dimension
def quiet_product(left, right, mesh, spec):
    rows, columns = (*spec, None, None)[:2]
    used = jax.tree.leaves((rows, columns))
    inner = tuple(axis for axis in mesh.axis_names if axis not in used)
    inner = inner or None
    left = jax.device_put(left, NamedSharding(mesh, P(rows, inner)))
    right = jax.device_put(right, NamedSharding(mesh, P(inner, columns)))
    out = NamedSharding(mesh, P(rows, columns))
    return left, right, jax.jit(jnp.matmul, out_shardings=out)(left, right)


# what: gathers x where x is smaller than w, not smaller than the product
def known_to_all(x, w, mesh):
    cut, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    if x.size <= w.size:
        product = with_sharding_constraint(x, whole) @ w
    else:
        product = with_sharding_constraint(x @ w, cut)
    return with_sharding_constraint(product, whole)
