"""Equinox: arrays are described, functions stay; jax.jit around the step."""

import equinox as eqx
import jax
import optax
from jax import NamedSharding, P

optimizer = optax.adam(1e-3)


def make(key):  # yours, and so is step
    model = eqx.nn.MLP(4096, 4096, 16384, 1, key=key)
    return model, optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_jit
def step(model, state, x):
    def loss(model):
        return (jax.vmap(model)(x) - x).var()

    updates, state = optimizer.update(eqx.filter_grad(loss)(model), state)
    return eqx.apply_updates(model, updates), state


def program(mesh):
    def on(a, *spec):
        where = NamedSharding(mesh, P(*spec))
        return jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=where)

    made = eqx.filter_eval_shape(make, jax.random.key(0))
    held, rest = eqx.partition(
        made, lambda a: isinstance(a, jax.ShapeDtypeStruct)
    )
    held = jax.tree.map(lambda a: on(a, *["model"][: a.ndim]), held)

    def arrays(held, x):
        return eqx.filter(step(*eqx.combine(held, rest), x), eqx.is_array)

    x = on(jax.ShapeDtypeStruct((2**14, 4096), "float32"), "data")
    return jax.jit(arrays, donate_argnums=0), (held, x)
