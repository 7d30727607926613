import jax

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

print("I am process", jax.process_index(), "of", jax.process_count())
print("mine:", [d.id for d in jax.local_devices()])
print("all: ", [d.id for d in jax.devices()])
