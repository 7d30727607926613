"""How long the loop stands still for a checkpoint of 256 MiB."""

import logging
import os
import time

import jax
import orbax.checkpoint as ocp
from jax import P

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())
logging.disable(logging.WARNING)  # that it waits, which we want
mesh = jax.make_mesh((jax.device_count(),), ("i",))
cut = jax.NamedSharding(mesh, P("i"))
draw = jax.jit(jax.random.normal, static_argnums=1, out_shardings=cut)
state = {"w": jax.block_until_ready(draw(jax.random.key(16), (2**26,)))}


def save_twice(background):
    """(until the loop goes on, until it counts): seconds, of the second."""
    folder = os.path.abspath(f"runs/saved-{background}")
    options = ocp.CheckpointManagerOptions(
        max_to_keep=1, enable_async_checkpointing=background
    )
    with ocp.CheckpointManager(folder, options=options) as manager:
        for step in (1, 2):
            began = time.perf_counter()
            manager.save(step, args=ocp.args.StandardSave(state))
            stood = time.perf_counter() - began
            manager.wait_until_finished()
            counts = time.perf_counter() - began
    return stood, counts


for background in (False, True):
    stood, counts = save_twice(background)
    how = "in the background" if background else "while the loop waits"
    if jax.process_index() == 0:
        print(f"{how:20}: stood {stood:.2f} s, counts after {counts:.2f} s")
