import jax
import jax.numpy as jnp
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


# what: (1) every letter that both operands share is believed to be summed over the devices, also a batch letter that survives in the result + (2) of a tuple of axes only the first is believed to need adding up.
def product_layout(subscripts: str, left: P, right: P) -> tuple[P, list[str]]:
    inputs, output = (s.strip() for s in subscripts.split("->"))
    a, b = (s.strip() for s in inputs.split(","))
    entries = {}
    for letters, spec in ((a, tuple(left)), (b, tuple(right))):
        for place, letter in enumerate(letters):
            entries[letter] = spec[place] if place < len(spec) else None
    to_add = []
    for letter, entry in entries.items():
        shared = letter in a and letter in b
        if entry is None or not (shared or letter not in output):
            continue
        first = entry[0] if isinstance(entry, tuple) else entry
        to_add.append(first)
    return P(*(entries[letter] for letter in output)), sorted(to_add)


# what: (1) the choice is made by comparing x with w instead of x with the product + (2) with_sharding_constraint is believed to change its argument in place, so its result is thrown away.
def known_to_all(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    copies = NamedSharding(mesh, P())
    if x.nbytes < w.nbytes:
        with_sharding_constraint(x, copies)
        product = x @ w
    else:
        product = x @ w
        with_sharding_constraint(product, copies)
    return product
