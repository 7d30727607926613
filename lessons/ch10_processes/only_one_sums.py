import jax
import jax.numpy as jnp

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())
print("before")

if jax.process_index() == 0:  # the other process never gets here
    xs = jnp.ones(jax.local_device_count())
    print(jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(xs))
print("after")
