"""A few lines with each library that people write models in; a program whose library is missing is left out."""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P
from planned_programs import batch


def nnx_shared(mesh):
    """Flax NNX: an optimizer of one's own that holds the model's parameters, which are one argument and not two."""
    from flax import nnx

    class Descent(nnx.Pytree):
        def __init__(self, params):
            self.params = nnx.data(params)

        def update(self, grads):
            def one(w, g):
                w[...] -= 0.1 * g[...]

            jax.tree.map(one, self.params, grads, is_leaf=lambda x: isinstance(x, nnx.Variable))

    def init():
        model = nnx.Linear(256, 512, rngs=nnx.Rngs(0))
        return model, Descent(nnx.variables(model, nnx.Param))

    @nnx.jit
    def step(model, optimizer, x):
        loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        optimizer.update(grads)
        return loss

    return step, (*nnx.eval_shape(init), batch(mesh))


def equinox_filter_jit(mesh):
    """Equinox: filter_jit of a model, in which functions are leaves, and arrays made here; the mesh is named inside."""
    import equinox as eqx
    import optax

    model = eqx.nn.MLP(256, 256, 512, 2, key=jax.random.key(0))
    optimizer = optax.adam(1e-3)

    @eqx.filter_jit
    def step(model, state, x):
        x = eqx.filter_shard(x, NamedSharding(mesh, P("data")))
        grads = eqx.filter_grad(lambda m: (jax.vmap(m)(x) ** 2).mean())(model)
        updates, state = optimizer.update(grads, state)
        return eqx.apply_updates(model, updates), state

    return step, (model, optimizer.init(eqx.filter(model, eqx.is_array)), jnp.zeros((128, 256)))
