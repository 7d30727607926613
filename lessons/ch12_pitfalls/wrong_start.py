import socket
import sys

import jax

from minipod.cluster import launch_arguments

arguments = launch_arguments()
if sys.argv[1] == "same-id":
    arguments["process_id"] = 0
elif sys.argv[1] == "three-of-two":
    arguments["num_processes"] = 3
elif sys.argv[1] == "port-taken" and arguments["process_id"] == 0:
    host, port = arguments["coordinator_address"].split(":")
    taken = socket.create_server((host, int(port)))

if "initialization_timeout" in arguments:  # our launcher's patience
    arguments["initialization_timeout"] = 2
jax.distributed.initialize(**arguments)
print("process", jax.process_index(), "of", jax.process_count())
