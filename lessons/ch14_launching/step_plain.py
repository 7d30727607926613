import jax
import jax.numpy as jnp
from regression import weights, x, y


def loss(w, x, y):
    h = jnp.tanh(x @ w["w1"] + w["b1"])
    return jnp.mean((h @ w["w2"] + w["b2"] - y) ** 2)


@jax.jit
def step(w, x, y):
    value, g = jax.value_and_grad(loss)(w, x, y)
    return jax.tree.map(lambda w, g: w - 0.1 * g, w, g), value


for _ in range(3):
    weights, value = step(weights, x, y)
    print("loss", float(value))
