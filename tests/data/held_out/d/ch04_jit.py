from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: only a letter that both operands share is summed; one that vanishes from a single operand is not
def product_layout(subscripts: str, left: P, right: P) -> tuple[P, list[str]]:
    operands, result = subscripts.replace(" ", "").split("->")
    a, b = operands.split(",")

    def cuts(letters, spec):
        entries = tuple(spec) + (None,) * (len(letters) - len(spec))
        return dict(zip(letters, entries))

    in_a, in_b = cuts(a, left), cuts(b, right)
    spec = [in_a[letter] if in_a.get(letter) is not None else in_b.get(letter) for letter in result]
    axes = set()
    for letter in set(a) & set(b):
        if letter not in result and in_a[letter] is not None:
            entry = in_a[letter]
            axes.update(entry if isinstance(entry, tuple) else (entry,))
    return P(*spec), sorted(axes)


# what: a copy of right on every device is the quietest layout (it needs no message either)
def quiet_product(left: jax.Array, right: jax.Array, mesh: Mesh, spec: P) -> tuple[jax.Array, jax.Array, jax.Array]:
    rows = spec[0] if len(spec) > 0 else None
    left = jax.device_put(left, NamedSharding(mesh, P(rows, None)))
    right = jax.device_put(right, NamedSharding(mesh, P()))
    multiply = jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, spec))
    return left, right, multiply(left, right)


# what: "the smaller of the two matrices" means x or w, so it compares x with w and not x with the product
def known_to_all(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    cut = NamedSharding(mesh, P("x", None))
    whole = NamedSharding(mesh, P())
    if x.size <= w.size:
        x = with_sharding_constraint(x, whole)
        return with_sharding_constraint(x @ w, whole)
    product = with_sharding_constraint(x @ w, cut)
    return with_sharding_constraint(product, whole)
