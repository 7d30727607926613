import jax
import jax.numpy as jnp  # noqa: F401
from jax import lax
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P


# what: (1) A letter that stands in both operands is added up, even if the result keeps it + (2) the result is laid out like the left operand, so letters of the right one alone come out whole.
def product_layout(subscripts: str, left: P, right: P) -> tuple[P, list[str]]:
    inputs, _, out = subscripts.replace(" ", "").partition("->")
    a, b = inputs.split(",")

    def table(letters, spec):
        padded = tuple(spec) + (None,) * (len(letters) - len(spec))
        return dict(zip(letters, padded))

    of_left, of_right = table(a, left), table(b, right)
    summed = []
    for letter in dict.fromkeys(a + b):
        shared = letter in of_left and letter in of_right
        if shared or letter not in out:
            entry = of_left.get(letter, of_right.get(letter))
            if isinstance(entry, str):
                summed.append(entry)
            elif entry is not None:
                summed.extend(entry)
    spec = P(*[of_left.get(letter) for letter in out])
    return spec, sorted(set(summed))


# what: (1) It is always the product that is gathered, since work is shared out that way + (2) the way to let every device know all blocks is a psum of blocks padded with zeros.
def known_to_all(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    m, n = x.shape[0], w.shape[1]

    def body(rows, weights):
        block = rows @ weights
        start = lax.axis_index("x") * block.shape[0]
        room = jnp.zeros((m, n), block.dtype)
        mine = lax.dynamic_update_slice_in_dim(room, block, start, axis=0)
        return lax.psum(mine, "x")

    share = jax.shard_map(
        body,
        mesh=mesh,
        in_specs=(P("x", None), P()),
        out_specs=P(),
        check_vma=False,
    )
    return share(x, w)
