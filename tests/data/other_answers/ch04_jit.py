"""Other answers to the exercises of ch04_jit: right ones, known mistakes, and other wrong ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def product_layout__full_specs_expected(subscripts, left, right):
    operands, result = subscripts.split("->")
    one, two = operands.split(",")
    cut = {k: left[i] for i, k in enumerate(one)} | {k: right[i] for i, k in enumerate(two)}
    summed = jax.tree.leaves([axes for letter, axes in cut.items() if letter not in result])
    return P(*(cut[letter] for letter in result)), sorted(summed)


def quiet_product__right(a, b, mesh, spec):
    rows = spec[0] if len(spec) > 0 else None
    columns = spec[1] if len(spec) > 1 else None
    left, right = NamedSharding(mesh, P(rows)), NamedSharding(mesh, P(None, columns))
    alone_a, alone_b = np.asarray(a), np.asarray(b)
    a = jax.make_array_from_callback(a.shape, left, lambda index: alone_a[index])
    b = jax.make_array_from_callback(b.shape, right, lambda index: alone_b[index])
    return a, b, jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, spec))(a, b)


def quiet_product__every_axis_used(left, right, mesh, spec):
    rows, columns = (*spec, None, None)[:2]
    named = jax.tree.leaves((rows, columns))
    spare = tuple(a for a in mesh.axis_names if a not in named) or None
    left = jax.device_put(left, NamedSharding(mesh, P(rows or spare)))
    right = jax.device_put(right, NamedSharding(mesh, P(None, columns or spare)))
    return left, right, left @ right


def known_to_all__right_otherwise(x, w, mesh):
    def local(x, w):
        if x.shape[1] < w.shape[1]:
            return lax.all_gather(x, "x", tiled=True) @ w
        return lax.all_gather(x @ w, "x", tiled=True)

    return jax.shard_map(local, mesh=mesh, in_specs=(P("x"), P()), out_specs=P(), check_vma=False)(x, w)


def known_to_all__sizes_compared(x, w, mesh):
    cut, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    if x.size < w.size:
        return jax.jit(jnp.matmul, out_shardings=whole)(x, w)
    product = jax.jit(jnp.matmul, out_shardings=cut)(x, w)
    return jax.jit(lambda y: y, out_shardings=whole)(product)


# Small changes of right answers that once passed: each has a case of its own.
def product_layout__names_taken_apart(subscripts, left, right):
    operands, result = subscripts.split("->")
    cut = {}
    for letters, spec in zip(operands.split(","), (left, right), strict=True):
        cut |= dict(zip(letters, spec, strict=False))
    summed = [entry or () for letter, entry in cut.items() if letter not in result]
    return P(*map(cut.get, result)), sorted(axis for entry in summed for axis in entry)
