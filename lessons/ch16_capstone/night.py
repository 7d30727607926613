"""A training that survives the night: night.py FOLDER STEPS

Ends with 0: done. 75: told to go, everything is saved, start me again. 2: a
person must look. Anything else, a signal or the watchdog's 1: start me again.
"""

import argparse
import faulthandler
import json
import sys
import time
from pathlib import Path

import faults
import jax
import keeping
import model
from jax.experimental import multihost_utils
from rows import Rows

from minipod.cluster import launch_arguments
from minipod.processes import free_port

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("steps", type=int)
parser.add_argument("--every", type=int, default=10)  # steps
parser.add_argument("--limit", type=float, default=60)  # seconds for a step
args = parser.parse_args()
try:
    jax.distributed.initialize(**launch_arguments())
except ValueError:  # nobody launched us: a cluster of one process
    jax.distributed.initialize(f"127.0.0.1:{free_port()}", 1, 0)

folder = Path(args.folder)
manager = keeping.open_folder(folder / "steps")
mesh = model.mesh_of_all()
draw, key = model.start(mesh)
step, losses, rows = 0, [], Rows("data/train.npy")
if found := keeping.restore(manager, jax.eval_shape(draw, key)):
    step, state, rest = found
    losses, rows = rest["losses"], Rows(**rest["rows"])
else:
    state = draw(key)
print("begins after step", step, dict(mesh.shape), flush=True)
told = False
while step < args.steps and not told:
    faults.before(step + 1)
    state, value = model.update(state, *rows.take(mesh))
    losses.append(float(value))  # waits until the step is done
    step += 1
    print("step", step, losses[-1])
    faulthandler.dump_traceback_later(args.limit, exit=True)
    told = multihost_utils.reached_preemption_sync_point(step)
    if told or step % args.every == 0 or step == args.steps:
        began = time.perf_counter()
        rest = {"losses": losses, "rows": vars(rows)}
        keeping.save(manager, step, state, rest)
        print("saved", step, time.perf_counter() - began)
keeping.finish(manager)
faulthandler.cancel_dump_traceback_later()
if told and step < args.steps:
    print(f"told to go: step {step} is saved")
    sys.exit(75)
print(f"loss of step {step}: {losses[-1]:.6f}")
if jax.process_index() == 0:
    (folder / "losses.json").write_text(json.dumps(losses))
