import sys

import jax
import stopwatch

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

for what in sys.argv[1:]:  # such as flat:1024 or flat:1024:zigzag
    name, size, *order = what.split(":")
    seconds, sent = stopwatch.measure(name, bool(order), int(size))
    if jax.process_index() == 0:
        print(what, seconds, sent)
