import socket

import jax

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

name = socket.gethostname()
print("I run on", name, "at", socket.gethostbyname(name))
print("my devices:", [d.id for d in jax.local_devices()])
