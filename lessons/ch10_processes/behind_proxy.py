import os
import sys

import jax

from minipod.cluster import launch_arguments

os.environ["http_proxy"] = "http://127.0.0.1:9"  # as a login script does
os.environ["no_proxy"] = sys.argv[1]
arguments = launch_arguments() | {"initialization_timeout": 3}
jax.distributed.initialize(**arguments)
print("process", jax.process_index(), "of", jax.process_count())
