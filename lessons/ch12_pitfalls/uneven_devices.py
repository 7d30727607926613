import os

import jax

from minipod.cluster import launch_arguments

mine = (3, 5)[int(os.environ["MINIPOD_PROCESS"])]  # our number, from run
jax.config.update("jax_num_cpu_devices", mine)
jax.distributed.initialize(**launch_arguments())

print("I have", jax.local_device_count(), "of", jax.device_count(), "devices")
xs = jax.numpy.ones(jax.local_device_count())
print(jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(xs))
