import os
import signal

import jax
import numpy as np
from jax import P
from jax.experimental.multihost_utils import live_devices

from minipod.cluster import launch_arguments

jax.config.update("jax_enable_recoverability", True)
jax.distributed.initialize(
    **launch_arguments() | {"heartbeat_timeout_seconds": 2}
)


def step(devices):  # one collective among these devices
    mesh = jax.sharding.Mesh(np.array(devices), ("i",))
    sharding = jax.NamedSharding(mesh, P("i"))
    ones = np.ones(4, np.float32)
    xs = jax.make_array_from_process_local_data(sharding, ones)
    return float(xs.sum())


for turn in range(5):
    if jax.process_index() == 1 and turn == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        with live_devices(jax.devices()) as live:
            print("turn", turn, "over", len(live), "devices:", step(live))
    except Exception as error:
        first = error.__context__ or error
        print("turn", turn, type(first).__name__, "->", type(error).__name__)

os._exit(0)  # the barrier at the exit would wait for the dead
