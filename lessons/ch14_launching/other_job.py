"""Another job's coordinator: listens on a port of this host."""

import sys
import time

import jax

jax.distributed.initialize(f"127.0.0.1:{sys.argv[1]}", 1, 0)
print("listening", flush=True)
time.sleep(600)
