import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


# what: Since a jax.Array is global, the product is believed to be known to every device without a gather: where x is the larger one the product stays cut along "x".
def known_to_all(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    k, n = w.shape
    whole = NamedSharding(mesh, P(None, None))
    if k < n:
        x = jax.lax.with_sharding_constraint(x, whole)
        return jax.lax.with_sharding_constraint(x @ w, whole)
    mine = jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P("x", None)))
    return mine @ w


# what: An axis that the product does not use is believed to be free for cutting k in both matrices alike (less memory, "both are cut the same way, so nothing has to be sent"), which leaves partial sums to add up.
def quiet_product(
    left: jax.Array, right: jax.Array, mesh: Mesh, spec: P
) -> tuple[jax.Array, jax.Array, jax.Array]:
    rows, columns = (tuple(spec) + (None, None))[:2]
    used = set()
    for entry in (rows, columns):
        used.update(entry if isinstance(entry, tuple) else [entry])
    inner = tuple(
        a
        for a in mesh.axis_names
        if a not in used and left.shape[1] % mesh.size == 0
    )
    middle = inner or None
    left = jax.device_put(left, NamedSharding(mesh, P(rows, middle)))
    right = jax.device_put(right, NamedSharding(mesh, P(middle, columns)))
    multiply = jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, spec))
    return left, right, multiply(left, right)
