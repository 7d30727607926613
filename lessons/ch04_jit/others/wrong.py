"""Every known mistake of ch04_jit once more, spelled differently: it must be given the same name."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def _parts(subscripts, left, right):
    one, rest = subscripts.split(",")
    two, result = rest.split("->")
    spec = {two[n]: entry for n, entry in enumerate(right)} | {
        one[n]: entry for n, entry in enumerate(left)
    }
    return one, two, result, spec


def _flat(entries):
    return sorted(
        {
            axis
            for e in entries
            if e
            for axis in ([e] if isinstance(e, str) else e)
        }
    )


def product_layout__nothing_to_add(subscripts, left, right):
    _, _, result, spec = _parts(subscripts, left, right)
    return P(*[spec.get(letter, None) for letter in result]), []


def product_layout__every_axis(subscripts, left, right):
    _, _, result, spec = _parts(subscripts, left, right)
    return P(*map(spec.get, result)), _flat([*left, *right])


def product_layout__left_only(subscripts, left, right):
    one, _, result, spec = _parts(subscripts, left, right)
    entries = [spec.get(letter) if letter in one else None for letter in result]
    return P(*entries), _flat(
        entry for letter, entry in spec.items() if letter not in result
    )


def product_layout__result_everywhere(subscripts, left, right):
    _, _, result, spec = _parts(subscripts, left, right)
    axes = _flat(spec[letter] for letter in set(spec) - set(result))
    return P(*[None if axes else spec.get(letter) for letter in result]), axes


def product_layout__order_of_operands(subscripts, left, right):
    one, two, result, spec = _parts(subscripts, left, right)
    kept = [letter for letter in one if letter in result]
    kept += [letter for letter in two if letter in result and letter not in one]
    return P(*map(spec.get, kept)), _flat(
        spec[letter] for letter in set(spec) - set(result)
    )


def product_layout__only_shared_letters(subscripts, left, right):
    one, two, result, spec = _parts(subscripts, left, right)
    contracted = (set(one) & set(two)) - set(result)
    return P(*map(spec.get, result)), _flat(
        spec.get(letter) for letter in contracted
    )


def product_layout__tuple_kept(subscripts, left, right):
    _, _, result, spec = _parts(subscripts, left, right)
    axes = []
    for letter, entry in spec.items():
        if letter not in result and entry is not None:
            axes.append(entry)
    return P(*map(spec.get, result)), sorted(axes)


def _on(mesh, x, *spec):
    sharding = NamedSharding(mesh, P(*spec))
    alone = np.asarray(x)
    return jax.make_array_from_callback(
        x.shape, sharding, lambda index: alone[index]
    )


def _product(mesh, a, b, spec):
    return a, b, jax.device_put(jnp.dot(a, b), NamedSharding(mesh, spec))


def quiet_product__all_alike(a, b, mesh, spec):
    a, b = jax.device_put((a, b), NamedSharding(mesh, spec))
    return _product(mesh, a, b, spec)


def quiet_product__everywhere(a, b, mesh, spec):
    return _product(
        mesh, _on(mesh, a, None, None), _on(mesh, b, None, None), spec
    )


def quiet_product__right_everywhere(a, b, mesh, spec):
    return _product(mesh, _on(mesh, a, *spec[:1]), _on(mesh, b), spec)


def quiet_product__inner_cut(a, b, mesh, spec):
    rows, columns = [*spec, None, None][:2]
    return _product(mesh, _on(mesh, a, None, rows), _on(mesh, b, columns), spec)


def quiet_product__entries_swapped(a, b, mesh, spec):
    columns, rows = [*spec, None, None][:2]
    a, b = _on(mesh, a, rows), _on(mesh, b, None, columns)
    return a, b, jnp.dot(a, b)


def quiet_product__short_spec(a, b, mesh, spec):
    a = jax.device_put(a, NamedSharding(mesh, P(spec[0])))
    columns = spec[1]
    b = jax.device_put(b, NamedSharding(mesh, P(None, columns)))
    return a, b, jnp.dot(a, b)


def known_to_all__only_asked(x, w, mesh):
    return lax.with_sharding_constraint(x, NamedSharding(mesh, P())) @ w


def _product_gathered(x, w, mesh):
    gather = jax.shard_map(
        lambda x, w: lax.all_gather(x @ w, "x", tiled=True),
        mesh=mesh,
        in_specs=(P("x"), P()),
        out_specs=P(),
        check_vma=False,
    )
    return gather(x, w)


def known_to_all__always_the_product(x, w, mesh):
    return _product_gathered(x, w, mesh)


def known_to_all__the_larger(x, w, mesh):
    larger = max(w.shape)
    if larger == w.shape[0]:
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P())) @ w
    return _product_gathered(x, w, mesh)


def known_to_all__still_cut(x, w, mesh):
    return jnp.einsum("mk,kn->mn", x, w)


def known_to_all__inner_cut(x, w, mesh):
    columns, rows = (
        NamedSharding(mesh, P(None, "x")),
        NamedSharding(mesh, P("x")),
    )
    x = jax.jit(lambda x: x, out_shardings=columns)(
        lax.with_sharding_constraint(x, columns)
    )
    w = lax.with_sharding_constraint(w, rows)
    return jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, P()))(x, w)


def _bytes(compiled, what="alias_size_in_bytes"):
    return getattr(compiled.memory_analysis(), what)


def _kept(state):
    return {name: array.sharding for name, array in state.items()}


def two_steps_in_place__not_donated(update, state, batch):
    step = (
        jax.jit(update, out_shardings=_kept(state))
        .lower(state, batch)
        .compile()
    )
    for _ in range(2):
        state = step(state, batch)
    return state, _bytes(step)


def two_steps_in_place__layout_lost(update, state, batch):
    def step(state, batch):
        return update(state, batch)

    donating = jax.jit(step, donate_argnames=("state",))
    saved = _bytes(donating.lower(state, batch).compile())
    for _ in range(2):
        state = donating(state, batch)
    return state, saved


def two_steps_in_place__does_not_fit(update, state, batch):
    compiled = (
        jax.jit(update, donate_argnums=(0,)).lower(state, batch).compile()
    )
    saved = _bytes(compiled)
    for _ in range(2):
        state = compiled(state, batch)
    return state, saved


def two_steps_in_place__whole_arrays(update, state, batch):
    size = sum(np.asarray(array).nbytes for array in state.values())
    step = (
        jax.jit(update, donate_argnums=0, out_shardings=_kept(state))
        .lower(state, batch)
        .compile()
    )
    return step(step(state, batch), batch), size


def two_steps_in_place__all_output(update, state, batch):
    step = (
        jax.jit(update, donate_argnums=0, out_shardings=_kept(state))
        .lower(state, batch)
        .compile()
    )
    return step(step(state, batch), batch), _bytes(step, "output_size_in_bytes")


def two_steps_in_place__one_step(update, state, batch):
    step = (
        jax.jit(update, donate_argnums=0, out_shardings=_kept(state))
        .lower(state, batch)
        .compile()
    )
    return step(state, batch), _bytes(step)
