"""The twin in as many processes as there are: from one step to another.

run("train.py", FOLDER, FIRST, LAST): its checkpoints; where FIRST is not 0,
that of this step is read
"""

import sys
from pathlib import Path

import jax
import numpy as np
import orbax.checkpoint as ocp
from jax import NamedSharding, P
from jax.sharding import AxisType
from rows import batch, lesson, recorded
from twin import optimizer, step, taken

from minipod.cluster import launch_arguments

folder, first, last = Path(sys.argv[1]).absolute(), *map(int, sys.argv[2:])
jax.distributed.initialize(**launch_arguments())  # init_process_group
me, n = jax.process_index(), jax.process_count()
mesh = jax.make_mesh((jax.device_count(),), ("data",), (AxisType.Auto,))
same, by_rows = (NamedSharding(mesh, s) for s in (P(), P(None, "data")))

w = taken(np.load(lesson / "start.npz"))
state = jax.device_put((w, optimizer().init(w)), same)
options = ocp.CheckpointManagerOptions(enable_async_checkpointing=False)
saved = ocp.CheckpointManager(folder, options=options)
if first:  # laid out as it is wanted here, whoever wrote it
    like = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=same), state
    )
    state = saved.restore(first, args=ocp.args.StandardRestore(like))

run = jax.jit(step, donate_argnums=0, out_shardings=same)
losses = []
for i in range(first, last):
    mine = np.split(batch(i), n, axis=1)[me]
    tokens = jax.make_array_from_process_local_data(by_rows, mine)
    state, value = run(state, tokens)
    losses.append(float(value))
saved.save(last, args=ocp.args.StandardSave(state))
if me == 0:
    theirs = recorded["losses"]["f32"][first:last]
    off = np.abs(np.divide(losses, theirs) - 1).max()
    print(f"steps {first} to {last - 1}: at most {off:.0e} from DDP's", end="")
    print(f"; rows of process 0 in a step: {mine.shape[:2]}")
