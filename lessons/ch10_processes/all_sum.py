import jax
import jax.numpy as jnp

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

xs = jnp.ones(jax.local_device_count())
total = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(xs)

if jax.process_index() == 0:  # only printing stands inside
    print("total", total.addressable_shards[0].data[0])
