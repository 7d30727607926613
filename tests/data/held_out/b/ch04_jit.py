from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jax.lax import with_sharding_constraint


# what: lists the spec's entries, so a tuple of axes stays a tuple in axes
def product_layout(subscripts, left, right):
    operands, result = subscripts.replace(" ", "").split("->")
    one, two = operands.split(",")
    cut = dict(zip(one, tuple(left))) | dict(zip(two, tuple(right)))
    summed = {entry for letter, entry in cut.items() if entry is not None and letter not in result}
    return P(*(cut.get(letter) for letter in result)), sorted(summed, key=str)


# what: leaves right whole on every device, as the product sends nothing so
def quiet_product(left, right, mesh, spec):
    rows, columns = (*spec, None, None)[:2]
    left = jax.device_put(left, NamedSharding(mesh, P(rows, None)))
    right = jax.device_put(right, NamedSharding(mesh, P()))
    out = NamedSharding(mesh, P(rows, columns))
    return left, right, jax.jit(jnp.matmul, out_shardings=out)(left, right)


# what: takes device_put to change a layout inside a jitted function
def known_to_all(x, w, mesh):
    whole = NamedSharding(mesh, P())
    if x.shape[1] < w.shape[1]:
        return jax.device_put(x, whole) @ w
    product = with_sharding_constraint(x @ w, NamedSharding(mesh, P("x")))
    return jax.device_put(product, whole)
