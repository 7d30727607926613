import jax

from minipod import pictures
from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

if jax.process_index() == 0:
    picture = pictures.hosts(jax.devices(), function="f", collective="psum")
    picture.save("hosts.svg")
    print("drawn:", len(jax.devices()), "devices")
