import jax
import jax.numpy as jnp  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P


def _names(entry):
    if entry is None:
        return ()
    return (entry,) if isinstance(entry, str) else tuple(entry)


# what: Only a letter of both operands is ever added up over devices; one that stands in a single operand and vanishes is summed at home.
def product_layout(subscripts: str, left: P, right: P) -> tuple[P, list[str]]:
    operands, result = subscripts.replace(" ", "").split("->")
    first, second = operands.split(",")

    cut = {}
    for letters, spec in ((first, left), (second, right)):
        entries = list(spec) + [None] * (len(letters) - len(spec))
        cut.update(zip(letters, entries))

    contracted = (set(first) & set(second)) - set(result)
    axes = sorted({a for c in contracted for a in _names(cut[c])})
    return P(*(cut[c] for c in result)), axes


# what: For a product without messages every device needs all of the right matrix; only the rows of the left one are cut.
def quiet_product(
    left: jax.Array, right: jax.Array, mesh: Mesh, spec: P
) -> tuple[jax.Array, jax.Array, jax.Array]:
    row_cut = spec[0] if len(spec) > 0 else None
    left = jax.device_put(left, NamedSharding(mesh, P(row_cut, None)))
    right = jax.device_put(right, NamedSharding(mesh, P(None, None)))
    multiply = jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, spec))
    return left, right, multiply(left, right)


# what: "The smaller one" is the smaller of the two operands: x is gathered if it is smaller than w, and the product otherwise.
def known_to_all(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    whole = NamedSharding(mesh, P(None, None))
    by_rows = NamedSharding(mesh, P("x", None))
    pin = jax.lax.with_sharding_constraint
    if x.size <= w.size:
        return pin(pin(x, whole) @ w, whole)
    product = pin(pin(x, by_rows) @ w, by_rows)
    return pin(product, whole)
