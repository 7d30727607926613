import jax
import jax.numpy as jnp
from flax import nnx
from regression import weights, x, y


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(4, 16, rngs=rngs)
        self.second = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.second(jnp.tanh(self.first(x)))


model = Model(nnx.Rngs(0))
for layer, n in ((model.first, 1), (model.second, 2)):
    layer.kernel[...] = weights[f"w{n}"]
    layer.bias[...] = weights[f"b{n}"]


@nnx.jit
def step(model, x, y):
    def loss(model):
        return jnp.mean((model(x) - y) ** 2)

    value, g = nnx.value_and_grad(loss)(model)
    w = nnx.state(model, nnx.Param)
    nnx.update(model, jax.tree.map(lambda w, g: w - 0.1 * g, w, g))
    return value


for _ in range(3):
    print("loss", float(step(model, x, y)))
