"""A training that survives the night: night.py FOLDER STEPS

Ends with 0: done. 75: told to go, everything is saved, start me again. 2: a
person must look. Anything else, a signal or the watchdog's 1: start me again.
"""

import argparse
import faulthandler
import json
import sys
from pathlib import Path

import claim
import faults
import jax
import keeping
import model
import notes
from ending import PERSON
from jax.experimental import multihost_utils
from notes import note
from rows import Rows
from slow import who_is_slow

from minipod.cluster import Heartbeat, launch_arguments, missed_launcher
from minipod.processes import free_port

AGAIN = 75  # exit status: saved, start me again
FIRST = 120  # seconds until the first step is done: it compiles

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("steps", type=int)
parser.add_argument("--every", type=int, default=10)  # steps
parser.add_argument("--limit", type=float, default=60)  # seconds for a step
args = parser.parse_args()


def watch(seconds):
    """End with the stacks of all threads unless called again in time."""
    file = notes.log or sys.stderr
    faulthandler.dump_traceback_later(seconds, exit=True, file=file)


try:
    jax.distributed.initialize(**launch_arguments())
except ValueError as error:  # JAX finds no cluster: train in this process,
    if why := missed_launcher():  # unless there seem to be others
        print(f"no cluster found ({error}): {why}", flush=True)
        sys.exit(PERSON)
    jax.distributed.initialize(f"127.0.0.1:{free_port()}", 1, 0)

watch(FIRST)  # before the first disk is touched: it may be dead
folder = Path(args.folder)
claim.claim(folder)
notes.begin(folder / "logs")
watch(FIRST)  # from now on into the log
beat = Heartbeat(folder / "beats")
manager = keeping.open_folder(folder / "steps")
mesh = model.mesh_of_all()
draw, key = model.start(mesh)
step, losses, rows = 0, [], Rows("data/train.npy")
if found := keeping.restore(manager, jax.eval_shape(draw, key)):
    step, state, rest = found
    losses, rows = rest["losses"], Rows(**rest["rows"])
else:
    state = draw(key)
note(step, f"begins after step {step} on {dict(mesh.shape)}", show=True)

told, begun = False, step
while step < args.steps and not told:
    beat.begin(step + 1)
    faults.before(step + 1)
    batch = rows.take(mesh)
    beat.ready()  # only the others are missing
    state, value = model.update(state, *batch)
    losses.append(float(value))  # waits until the step is done
    step += 1
    beat.done()
    watch(args.limit)
    note(step, f"loss {losses[-1]:.6f}")
    told = multihost_utils.reached_preemption_sync_point(step - begun)
    if told or step % args.every == 0 or step == args.steps:
        rest = {"losses": losses, "rows": vars(rows)}
        keeping.save(manager, step, state, rest)
        watch(args.limit)  # it was no part of the next step
        if slow := who_is_slow(beat.own):
            note(step, slow, show=True)
keeping.finish(manager)
if done := step >= args.steps:
    note(step, f"loss of step {step}: {losses[-1]:.6f}", show=True)
    if jax.process_index() == 0:
        (folder / "losses.json").write_text(json.dumps(losses))
else:
    note(step, f"told to go: step {step} is saved", show=True)
multihost_utils.sync_global_devices("noted")  # nobody leaves before
faulthandler.cancel_dump_traceback_later()
sys.exit(0 if done else AGAIN)
