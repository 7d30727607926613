import jax
import jax.numpy as jnp  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P


# what: only letters that stand in both operands are believed to be summed, so a letter of one operand alone that is missing from the result is forgotten.
def product_layout(subscripts: str, left: P, right: P) -> tuple[P, list[str]]:
    inputs, result = subscripts.replace(" ", "").split("->")
    a, b = inputs.split(",")
    cut = {}
    for letters, spec in ((a, left), (b, right)):
        entries = list(spec) + [None] * (len(letters) - len(spec))
        for letter, entry in zip(letters, entries):
            if entry is not None:
                cut[letter] = entry
    spec = P(*(cut.get(letter) for letter in result))
    axes = set()
    for letter in set(a) & set(b):
        if letter not in result and letter in cut:
            entry = cut[letter]
            axes.update((entry,) if isinstance(entry, str) else entry)
    return spec, sorted(axes)


# what: cutting the inner dimension of both matrices alike, along an axis that is free, is believed to cost nothing, because the layouts agree.
def quiet_product(
    left: jax.Array, right: jax.Array, mesh: Mesh, spec: P
) -> tuple[jax.Array, jax.Array, jax.Array]:
    rows, columns = (list(spec) + [None, None])[:2]
    used = set()
    for entry in (rows, columns):
        if entry is not None:
            used.update((entry,) if isinstance(entry, str) else entry)
    inner = None
    for axis in mesh.axis_names:
        if axis not in used and left.shape[1] % mesh.shape[axis] == 0:
            inner = axis
            break
    left = jax.device_put(left, NamedSharding(mesh, P(rows, inner)))
    right = jax.device_put(right, NamedSharding(mesh, P(inner, columns)))
    multiply = jax.jit(
        jnp.matmul, out_shardings=NamedSharding(mesh, P(rows, columns))
    )
    return left, right, multiply(left, right)


# what: a device's own rows of x are compared with the whole product, as if gathering x moved only one part of it.
def known_to_all(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    m, k = x.shape
    n = w.shape[1]
    everywhere = NamedSharding(mesh, P(None, None))
    by_rows = NamedSharding(mesh, P("x", None))
    if (m // mesh.size) * k <= m * n:
        x = jax.lax.with_sharding_constraint(x, everywhere)
        return jax.lax.with_sharding_constraint(x @ w, everywhere)
    y = jax.lax.with_sharding_constraint(x @ w, by_rows)
    return jax.lax.with_sharding_constraint(y, everywhere)
