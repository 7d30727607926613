"""Known wrong answers of ch04_jit, as code; words.toml explains them."""

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _letters(subscripts, left, right):
    """The entry of each letter, by operand, and the letters of the result."""
    operands, result = subscripts.split("->")
    one, two = operands.split(",")
    return (
        dict(zip(one, left, strict=False)),
        dict(zip(two, right, strict=False)),
        result,
    )


def _axes(entries):
    axes = set()
    for entry in entries:
        axes |= {entry} if isinstance(entry, str) else set(entry or ())
    return sorted(axes)


def _summed(cut, result):
    return _axes(entry for letter, entry in cut.items() if letter not in result)


def product_layout__nothing_to_add(subscripts, left, right):
    one, two, result = _letters(subscripts, left, right)
    cut = one | two
    return P(*(cut.get(letter) for letter in result)), []


def product_layout__every_axis(subscripts, left, right):
    one, two, result = _letters(subscripts, left, right)
    cut = one | two
    return P(*(cut.get(letter) for letter in result)), _axes(cut.values())


def product_layout__left_only(subscripts, left, right):
    one, two, result = _letters(subscripts, left, right)
    spec = P(*(one.get(letter) for letter in result))
    return spec, _summed(one | two, result)


def product_layout__result_everywhere(subscripts, left, right):
    one, two, result = _letters(subscripts, left, right)
    axes = _summed(one | two, result)
    cut = {} if axes else one | two
    return P(*(cut.get(letter) for letter in result)), axes


def product_layout__order_of_operands(subscripts, left, right):
    one, two, result = _letters(subscripts, left, right)
    cut = one | two
    letters = dict.fromkeys(subscripts.split("->")[0].replace(",", ""))
    kept = [letter for letter in letters if letter in result]
    return P(*(cut.get(letter) for letter in kept)), _summed(cut, result)


def product_layout__only_shared_letters(subscripts, left, right):
    one, two, result = _letters(subscripts, left, right)
    cut = one | two
    shared = {letter: cut[letter] for letter in one.keys() & two.keys()}
    spec = P(*(cut.get(letter) for letter in result))
    return spec, _summed(shared, result)


def product_layout__tuple_kept(subscripts, left, right):
    one, two, result = _letters(subscripts, left, right)
    cut = one | two
    summed = [cut[letter] for letter in cut if letter not in result]
    spec = P(*(cut.get(letter) for letter in result))
    return spec, sorted(filter(None, summed))


def product_layout__every_shared_letter(subscripts, left, right):
    one, two, result = _letters(subscripts, left, right)
    left_letters, right_letters = subscripts.split("->")[0].split(",")
    shared, cut = set(left_letters) & set(right_letters), one | two
    kept = [letter for letter in result if letter not in shared]
    entries = [cut.get(letter) if letter in kept else None for letter in result]
    return P(*entries), _summed(cut, kept)


def product_layout__order_of_letters(subscripts, left, right):
    one, two, result = _letters(subscripts, left, right)
    cut, axes = one | two, []
    for letter, entry in cut.items():
        if letter not in result:
            axes += [entry] if isinstance(entry, str) else entry or ()
    return P(*(cut.get(letter) for letter in result)), axes


def _entries(spec):
    return (*spec, None, None)[:2]


def _put(x, mesh, *spec):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def _multiply(a, b, mesh, spec):
    wanted = NamedSharding(mesh, spec)
    return a, b, jax.jit(jnp.matmul, out_shardings=wanted)(a, b)


def quiet_product__all_alike(a, b, mesh, spec):
    return _multiply(_put(a, mesh, *spec), _put(b, mesh, *spec), mesh, spec)


def quiet_product__everywhere(a, b, mesh, spec):
    return _multiply(_put(a, mesh), _put(b, mesh), mesh, spec)


def quiet_product__right_everywhere(a, b, mesh, spec):
    a = _put(a, mesh, _entries(spec)[0], None)
    return _multiply(a, _put(b, mesh), mesh, spec)


def quiet_product__inner_cut(a, b, mesh, spec):
    rows, columns = _entries(spec)
    return _multiply(
        _put(a, mesh, None, rows), _put(b, mesh, columns, None), mesh, spec
    )


def quiet_product__entries_swapped(a, b, mesh, spec):
    rows, columns = _entries(spec)
    a, b = _put(a, mesh, columns, None), _put(b, mesh, None, rows)
    return a, b, a @ b


def quiet_product__short_spec(a, b, mesh, spec):
    a, b = _put(a, mesh, spec[0], None), _put(b, mesh, None, spec[1])
    return a, b, a @ b


def _gathered(x, mesh):
    everywhere = NamedSharding(mesh, P())
    return jax.jit(lambda x: x, out_shardings=everywhere)(x)


def _cut_product(x, w, mesh):
    cut = NamedSharding(mesh, P("x"))
    return jax.jit(jnp.matmul, out_shardings=cut)(x, w)


def known_to_all__only_asked(x, w, mesh):
    everywhere = NamedSharding(mesh, P())
    return jax.jit(jnp.matmul, out_shardings=everywhere)(x, w)


def known_to_all__always_the_product(x, w, mesh):
    return _gathered(_cut_product(x, w, mesh), mesh)


def known_to_all__the_larger(x, w, mesh):
    if x.shape[1] < w.shape[1]:
        return _gathered(_cut_product(x, w, mesh), mesh)
    return known_to_all__only_asked(x, w, mesh)


def known_to_all__k_beside_m(x, w, mesh):
    if x.shape[1] < x.shape[0]:
        return known_to_all__only_asked(x, w, mesh)
    return known_to_all__always_the_product(x, w, mesh)


def known_to_all__still_cut(x, w, mesh):
    return jax.device_put(x @ w, NamedSharding(mesh, P()))


def known_to_all__inner_cut(x, w, mesh):
    constrain = jax.lax.with_sharding_constraint
    x = constrain(x, NamedSharding(mesh, P(None, "x")))
    w = constrain(w, NamedSharding(mesh, P("x", None)))
    return constrain(x @ w, NamedSharding(mesh, P()))
