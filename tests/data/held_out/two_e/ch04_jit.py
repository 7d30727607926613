import jax
import jax.numpy as jnp  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P


# what: (1) every letter that both operands have is believed to be summed, also a batch letter that stays in the result + (2) a letter of one operand alone is believed never to be summed.
def product_layout(subscripts: str, left: P, right: P) -> tuple[P, list[str]]:
    inputs, result = subscripts.replace(" ", "").split("->")
    a, b = inputs.split(",")
    cut = {}
    for letters, spec in ((a, left), (b, right)):
        entries = tuple(spec) + (None,) * (len(letters) - len(spec))
        for letter, entry in zip(letters, entries):
            if entry is not None:
                cut[letter] = entry
    axes = []
    for letter in set(a) & set(b):
        entry = cut.get(letter, ())
        axes += [entry] if isinstance(entry, str) else list(entry)
    return P(*(cut.get(letter) for letter in result)), sorted(axes)


# what: (1) the two matrices to be compared are believed to be x and w, not x and the product + (2) what `jit` returns is believed to be whole on every device unless one asks for a cut.
def known_to_all(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    if x.size <= w.size:
        everywhere = NamedSharding(mesh, P(None, None))
        x = jax.lax.with_sharding_constraint(x, everywhere)
        return x @ w
    by_rows = NamedSharding(mesh, P("x", None))
    return jax.lax.with_sharding_constraint(x @ w, by_rows)
