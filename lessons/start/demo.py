# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% eight-devices
from minipod import devices, pictures

devices.simulate(8)

import jax
import jax.numpy as jnp

print(jax.devices())

# %% picture-one-sum
mesh = jax.make_mesh((8,), ("x",))
x = jax.device_put(jnp.arange(32), jax.NamedSharding(mesh, jax.P("x")))
pictures.sharding(x)

# %% one-sum
print(x.sum(), "on", len(x.sum().devices()), "devices")


# %% know-jit
@jax.jit
def double(x):
    print("tracing", x.shape)
    return 2 * x


a = double(jnp.ones(3))
b = double(jnp.zeros(3))
c = double(jnp.ones(4))


# %% know-grad
def loss(w):
    return jnp.sum((w - 1.0) ** 2)


print(jax.grad(loss)(jnp.array([1.0, 2.0, 3.0])))


# %% know-vmap
def dot(a, b):
    return jnp.sum(a * b)


rows = jnp.ones((5, 3))
print(jax.vmap(dot, in_axes=(0, None))(rows, jnp.arange(3.0)).shape)

# %% know-pytrees
params = {"w": jnp.ones((2, 3)), "layers": [jnp.zeros(4), None]}
print(jax.tree.map(jnp.shape, params))

# %% know-keys
key = jax.random.key(0)
one, two = jax.random.split(key)
print(jax.random.uniform(key) == jax.random.uniform(key))
print(jax.random.uniform(one) == jax.random.uniform(two))
