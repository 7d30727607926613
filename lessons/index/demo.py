# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% eight-devices-one-array
from minipod import devices, pictures

devices.simulate(8)

import jax
import jax.numpy as jnp

mesh = jax.make_mesh((2, 4), ("x", "y"))
where = jax.NamedSharding(mesh, jax.P("x", "y"))
x = jax.device_put(jnp.arange(32.0).reshape(4, 8), where)
pictures.sharding(x)

# %% what-its-sum-sends
from minipod import traffic

traffic.table(traffic.of(jnp.sum, x))
