import jax
import jax.numpy as jnp

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

xs = jnp.ones(jax.local_device_count())  # one number for each of MY devices
total = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(xs)

mine = [float(shard.data[0]) for shard in total.addressable_shards]
print("shape", total.shape, "with", mine)
