from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: believes that only a letter of both operands is summed; overlooks a letter that one operand alone has and the result has not
def product_layout(subscripts: str, left: P, right: P) -> tuple[P, list[str]]:
    operands, result = subscripts.replace(" ", "").split("->")
    first, second = operands.split(",")
    cut = {}
    for letters, spec in ((first, left), (second, right)):
        for letter, entry in zip(letters, spec):
            if entry is not None:
                cut[letter] = entry
    axes = []
    for letter in set(first) & set(second):
        if letter not in result and letter in cut:
            entry = cut[letter]
            axes += [entry] if isinstance(entry, str) else list(entry)
    return P(*(cut.get(letter) for letter in result)), sorted(axes)


# what: cuts the shared dimension along the axes that the product leaves free, to save memory; then partial sums must be added up
def quiet_product(left: jax.Array, right: jax.Array, mesh: Mesh, spec: P) -> tuple[jax.Array, jax.Array, jax.Array]:
    rows, columns = (tuple(spec) + (None, None))[:2]
    used = set()
    for entry in (rows, columns):
        if entry is not None:
            used |= {entry} if isinstance(entry, str) else set(entry)
    free = tuple(a for a in mesh.axis_names if a not in used)
    size = int(np.prod([mesh.shape[a] for a in free], dtype=int))
    shared = free if free and left.shape[1] % size == 0 else None
    left = jax.device_put(left, NamedSharding(mesh, P(rows, shared)))
    right = jax.device_put(right, NamedSharding(mesh, P(shared, columns)))
    multiply = jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, P(rows, columns)))
    return left, right, multiply(left, right)


# what: compares x with w, instead of x with the product, to find the smaller one
def known_to_all(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    everywhere = NamedSharding(mesh, P(None, None))
    if x.size < w.size:
        x = with_sharding_constraint(x, everywhere)
        return with_sharding_constraint(x @ w, everywhere)
    product = with_sharding_constraint(x @ w, NamedSharding(mesh, P("x", None)))
    return with_sharding_constraint(product, everywhere)
