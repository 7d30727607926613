"""Wrong answers of ch04_jit that its mistakes.py does not know, written after the checks were finished."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _cut(subscripts, left, right):
    operands, result = subscripts.split("->")
    one, two = operands.split(",")
    return dict(zip(one, left, strict=False)) | dict(
        zip(two, right, strict=False)
    ), result


def _summed(cut, result):
    axes = []
    for letter, entry in cut.items():
        if letter not in result:
            axes += [entry] if isinstance(entry, str) else entry or ()
    return axes


def product_layout__ends_left_out(subscripts, left, right):
    cut, result = _cut(subscripts, left, right)
    entries = [cut.get(letter) for letter in result]
    while entries and entries[-1] is None:
        entries.pop()
    return P(*entries), sorted(_summed(cut, result))


def product_layout__letters_for_axes(subscripts, left, right):
    cut, result = _cut(subscripts, left, right)
    letters = sorted(k for k, entry in cut.items() if k not in result and entry)
    return P(*(cut.get(letter) for letter in result)), letters


def product_layout__full_specs_expected(subscripts, left, right):
    operands, result = subscripts.split("->")
    one, two = operands.split(",")
    cut = {k: left[i] for i, k in enumerate(one)} | {
        k: right[i] for i, k in enumerate(two)
    }
    return P(*(cut[letter] for letter in result)), sorted(_summed(cut, result))


def product_layout__as_a_reduce_scatter(subscripts, left, right):
    cut, result = _cut(subscripts, left, right)
    axes = sorted(_summed(cut, result))
    entries = [cut.get(letter) for letter in result]
    if axes and None in entries:
        entries[entries.index(None)] = axes[0]
    return P(*entries), axes


def product_layout__names_letter_by_letter(subscripts, left, right):
    operands, result = subscripts.split("->")
    one, two = operands.split(",")
    cut = dict(zip(one, left, strict=False))
    cut |= dict(zip(two, right, strict=False))
    axes = []
    for letter, entry in cut.items():
        if letter not in result:
            axes += entry or ()
    return P(*(cut.get(letter) for letter in result)), sorted(axes)


def _put(x, mesh, *spec):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def quiet_product__every_axis_used(left, right, mesh, spec):
    rows, columns = (*spec, None, None)[:2]
    named = jax.tree.leaves((rows, columns))
    spare = tuple(a for a in mesh.axis_names if a not in named) or None
    left, right = (
        _put(left, mesh, rows or spare),
        _put(right, mesh, None, columns or spare),
    )
    return left, right, left @ right


def quiet_product__right_never_placed(left, right, mesh, spec):
    left = _put(left, mesh, (*spec, None)[0], None)
    product = jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, spec))(
        left, right
    )
    return left, right, product


def quiet_product__product_everywhere(left, right, mesh, spec):
    rows, columns = (*spec, None, None)[:2]
    left, right = _put(left, mesh, rows), _put(right, mesh, None, columns)
    return (
        left,
        right,
        jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, P()))(
            left, right
        ),
    )


def known_to_all__sizes_compared(x, w, mesh):
    cut, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    if x.size < w.size:
        return jax.jit(jnp.matmul, out_shardings=whole)(x, w)
    product = jax.jit(jnp.matmul, out_shardings=cut)(x, w)
    return jax.jit(lambda y: y, out_shardings=whole)(product)


def known_to_all__sent_as_bfloat16(x, w, mesh):
    cut, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    product = jax.jit(jnp.matmul, out_shardings=cut)(x, w).astype(jnp.bfloat16)
    return jax.jit(lambda y: y, out_shardings=whole)(product).astype(
        jnp.float32
    )


def known_to_all__zeros_added(x, w, mesh):
    def part(x, w):
        whole = jnp.zeros((x.shape[0] * mesh.size, w.shape[1]))
        start = lax.axis_index("x") * x.shape[0], 0
        return lax.psum(lax.dynamic_update_slice(whole, x @ w, start), "x")

    return jax.shard_map(
        part, mesh=mesh, in_specs=(P("x"), P()), out_specs=P(), check_vma=False
    )(x, w)
