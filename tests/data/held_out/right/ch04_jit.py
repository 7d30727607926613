from collections.abc import Callable
from functools import reduce

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jax.lax import with_sharding_constraint


# what: axes that cut an operand but not the result, as a difference of sets
def product_layout(subscripts, left, right):
    operands, result = subscripts.replace(" ", "").split("->")
    cut = {}
    for letters, spec in zip(operands.split(","), (left, right), strict=True):
        for letter, entry in zip(letters, tuple(spec)):
            if entry is not None:
                cut[letter] = entry
    entries = [cut.get(letter) for letter in result]
    before = set(jax.tree.leaves(list(cut.values())))
    return P(*entries), sorted(before - set(jax.tree.leaves(entries)))


# what: multiplies the blocks in a shard_map
def quiet_product(left, right, mesh, spec):
    rows, columns = (*spec, None, None)[:2]
    ins, out = (P(rows, None), P(None, columns)), P(rows, columns)
    left, right = (
        jax.device_put(array, NamedSharding(mesh, cut)) for array, cut in zip((left, right), ins, strict=True)
    )
    blocks = jax.shard_map(jnp.matmul, mesh=mesh, in_specs=ins, out_specs=out)
    return left, right, jax.jit(blocks)(left, right)


# what: shard_map for the product, on cut rows or on whole copies
def known_to_all(x, w, mesh):
    rows = P("x") if x.shape[1] > w.shape[1] else P()
    product = jax.shard_map(jnp.matmul, mesh=mesh, in_specs=(rows, P()), out_specs=rows)
    return with_sharding_constraint(product(x, w), NamedSharding(mesh, P()))
