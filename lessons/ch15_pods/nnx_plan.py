"""Flax NNX: model and optimizer are described, the step is your nnx.jit."""

import jax
import optax
from flax import nnx
from jax import NamedSharding, P


def make():  # yours, and so is step
    cut = nnx.with_partitioning(
        nnx.initializers.lecun_normal(), (None, "model")
    )
    rngs = nnx.Rngs(0)
    model = nnx.Linear(4096, 4096, kernel_init=cut, rngs=rngs)
    return model, nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)


@nnx.jit
def step(model, optimizer, x):
    loss, g = nnx.value_and_grad(lambda m: (m(x) - x).var())(model)
    optimizer.update(model, g)
    return loss


def program(mesh):
    with jax.set_mesh(mesh):
        model, optimizer = nnx.eval_shape(make)
    rows = NamedSharding(mesh, P("data"))
    x = jax.ShapeDtypeStruct((2**14, 4096), "float32", sharding=rows)
    return step, (model, optimizer, x)
