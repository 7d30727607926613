import haiku as hk
import jax
import jax.numpy as jnp
from regression import weights, x, y


def predict(x):
    h = jnp.tanh(hk.Linear(16, name="first")(x))
    return hk.Linear(1, name="second")(h)


model = hk.without_apply_rng(hk.transform(predict))
w = {
    "first": {"w": weights["w1"], "b": weights["b1"]},
    "second": {"w": weights["w2"], "b": weights["b2"]},
}  # in place of model.init(key, x)


def loss(w, x, y):
    return jnp.mean((model.apply(w, x) - y) ** 2)


@jax.jit
def step(w, x, y):
    value, g = jax.value_and_grad(loss)(w, x, y)
    return jax.tree.map(lambda w, g: w - 0.1 * g, w, g), value


for _ in range(3):
    w, value = step(w, x, y)
    print("loss", float(value))
