"""Other answers to the exercises of ch04_jit: right ones, known mistakes, and other wrong ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from minipod import traffic
from solutions import ch04_jit as right_answers


def product_layout__right(subscripts, left, right):
    """Compile it and look."""
    names = sorted(set(jax.tree.leaves([tuple(left), tuple(right)])))
    sizes, types = (2,) * len(names), (AxisType.Auto,) * len(names)
    mesh = jax.make_mesh(sizes, tuple(names), axis_types=types)
    operands, result = subscripts.split("->")
    shapes = [
        jax.ShapeDtypeStruct(
            (16,) * len(letters),
            jnp.float32,
            sharding=NamedSharding(mesh, spec),
        )
        for letters, spec in zip(operands.split(","), (left, right), strict=True)
    ]
    compiled = jax.jit(lambda a, b: jnp.einsum(subscripts, a, b)).lower(*shapes).compile()
    spec = tuple(compiled.output_shardings.spec)
    axes = [axis for c in traffic.read(str(compiled.as_text()), mesh) for axis in c.axes or ()]
    return P(*spec, *[None] * (len(result) - len(spec))), sorted(set(axes))


def _cut(subscripts, left, right):
    operands, result = subscripts.split("->")
    one, two = operands.split(",")
    return dict(zip(one, left, strict=False)) | dict(zip(two, right, strict=False)), result


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


def product_layout__full_specs_expected(subscripts, left, right):
    operands, result = subscripts.split("->")
    one, two = operands.split(",")
    cut = {k: left[i] for i, k in enumerate(one)} | {k: right[i] for i, k in enumerate(two)}
    return P(*(cut[letter] for letter in result)), sorted(_summed(cut, result))


def product_layout__as_a_reduce_scatter(subscripts, left, right):
    cut, result = _cut(subscripts, left, right)
    axes = sorted(_summed(cut, result))
    entries = [cut.get(letter) for letter in result]
    if axes and None in entries:
        entries[entries.index(None)] = axes[0]
    return P(*entries), axes


def quiet_product__right(a, b, mesh, spec):
    rows = spec[0] if len(spec) > 0 else None
    columns = spec[1] if len(spec) > 1 else None
    left, right = (
        NamedSharding(mesh, P(rows)),
        NamedSharding(mesh, P(None, columns)),
    )
    alone_a, alone_b = np.asarray(a), np.asarray(b)
    a = jax.make_array_from_callback(a.shape, left, lambda index: alone_a[index])
    b = jax.make_array_from_callback(b.shape, right, lambda index: alone_b[index])
    return (
        a,
        b,
        jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, spec))(a, b),
    )


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


def quiet_product__value_right_but_never_placed(left, right, mesh, spec):
    left = _put(left, mesh, (*spec, None)[0], None)
    product = jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, spec))(left, right)
    return left, right, product


def known_to_all__right(x, w, mesh):
    def gather(y):
        y = jax.lax.with_sharding_constraint(y, NamedSharding(mesh, P("x", None)))
        return jax.lax.with_sharding_constraint(y, NamedSharding(mesh, P()))

    return gather(x @ w) if w.shape[1] < w.shape[0] else jnp.dot(gather(x), w)


def known_to_all__right_otherwise(x, w, mesh):
    def local(x, w):
        if x.shape[1] < w.shape[1]:
            return lax.all_gather(x, "x", tiled=True) @ w
        return lax.all_gather(x @ w, "x", tiled=True)

    return jax.shard_map(local, mesh=mesh, in_specs=(P("x"), P()), out_specs=P(), check_vma=False)(x, w)


def _product_gathered(x, w, mesh):
    gather = jax.shard_map(
        lambda x, w: lax.all_gather(x @ w, "x", tiled=True),
        mesh=mesh,
        in_specs=(P("x"), P()),
        out_specs=P(),
        check_vma=False,
    )
    return gather(x, w)


def known_to_all__k_beside_m(x, w, mesh):
    rows, columns = x.shape
    if columns < rows:
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P())) @ w
    return _product_gathered(x, w, mesh)


def known_to_all__sizes_compared(x, w, mesh):
    cut, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    if x.size < w.size:
        return jax.jit(jnp.matmul, out_shardings=whole)(x, w)
    product = jax.jit(jnp.matmul, out_shardings=cut)(x, w)
    return jax.jit(lambda y: y, out_shardings=whole)(product)


def known_to_all__zeros_added(x, w, mesh):
    def part(x, w):
        whole = jnp.zeros((x.shape[0] * mesh.size, w.shape[1]))
        start = lax.axis_index("x") * x.shape[0], 0
        return lax.psum(lax.dynamic_update_slice(whole, x @ w, start), "x")

    return jax.shard_map(part, mesh=mesh, in_specs=(P("x"), P()), out_specs=P(), check_vma=False)(x, w)


# Small changes of right answers that once passed: each has a case of its own.
def product_layout__names_taken_apart(subscripts, left, right):
    operands, result = subscripts.split("->")
    cut = {}
    for letters, spec in zip(operands.split(","), (left, right), strict=True):
        cut |= dict(zip(letters, spec, strict=False))
    summed = [entry or () for letter, entry in cut.items() if letter not in result]
    return P(*map(cut.get, result)), sorted(axis for entry in summed for axis in entry)


def product_layout__first_axis_of_a_tuple(subscripts, left, right):
    def first(spec):
        return P(*(entry[0] if isinstance(entry, tuple) else entry for entry in spec))

    return right_answers.product_layout(subscripts, first(left), first(right))
