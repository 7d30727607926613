import sys

import jax

from minipod.cluster import launch_arguments

arguments = launch_arguments()
if arguments.get("process_id") == 1:
    sys.exit("process 1 was never started, say")

jax.distributed.initialize(**arguments)
