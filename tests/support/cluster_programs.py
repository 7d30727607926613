"""Programs for clusters, which several tests start."""

from pathlib import Path

# Joins by what the launcher says; `total(x)` sums a one on each device of all processes.
SUM = """
import os, signal, socket, subprocess, sys, threading, time
import jax
import numpy as np
from minipod.cluster import launch_arguments
jax.distributed.initialize(**launch_arguments())
mesh = jax.make_mesh((jax.device_count(),), ("x",))
ones = np.ones(jax.local_device_count(), np.float32)
x = jax.make_array_from_process_local_data(jax.NamedSharding(mesh, jax.P("x")), ones)  # f32[devices]
total = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "x"), mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P()))
"""
# Prints the sum, which process of how many this is, on which host, and on which addresses it listens.
PSUM = f"""{SUM}
sys.path.insert(0, {str(Path(__file__).parent)!r})
from still_running import listening
print(float(np.asarray(total(x))[0]), jax.process_index(), jax.process_count(), end=" ")
print(socket.gethostname(), *sorted(listening(os.getpid())))
"""
