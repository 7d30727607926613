from collections.abc import Callable

import jax
import jax.numpy as jnp  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P


# what: sums every letter that both operands have, also one that the result keeps + leaves the axes in the order of the letters, unsorted
def product_layout(subscripts: str, left: P, right: P) -> tuple[P, list[str]]:
    operands, result = subscripts.replace(" ", "").split("->")
    first, second = operands.split(",")
    cut = {}
    for letters, spec in ((first, left), (second, right)):
        for letter, entry in zip(letters, spec):
            if entry is not None:
                cut[letter] = entry
    both = set(first) & set(second)
    axes = []
    for letter in dict.fromkeys(first + second):
        if (letter in both or letter not in result) and letter in cut:
            entry = cut[letter]
            axes += [entry] if isinstance(entry, str) else list(entry)
    spec = P(*(None if letter in both else cut.get(letter) for letter in result))
    return spec, axes
