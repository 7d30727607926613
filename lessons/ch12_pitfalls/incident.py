"""A training loop in which one process goes wrong, at a step that is given:
`incident.py FAULT PROCESS STEP`. record_incidents.py keeps what is printed."""

import sys
import time

import jax
import progress
from incident_data import read, wait_for_disk
from jax import P
from progress import ask
from together import everyone, me, mesh, total

fault, who, when = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
progress.PATIENCE = 15  # many processes share few cores
whole = jax.jit(lambda w: w, out_shardings=jax.NamedSharding(mesh, P()))


def stalled(x):
    if me == who and x[0, 0] == when:
        time.sleep(3600)
    return x


@jax.jit
@jax.shard_map(mesh=mesh, in_specs=P("i"), out_specs=P())
def on_device(x):
    x = jax.pure_callback(stalled, jax.typeof(x), x)
    return jax.lax.psum(x[0], "i")


for step in range(1, 9):
    trouble = fault if (me, step) == (who, when) else ""
    if (rows := read(step, trouble)) is None:
        continue
    batch = everyone(rows)
    loss = ask(f"loss {step}", total, batch)
    if trouble == "swap":
        ask(f"norm {step}", whole, batch)
        ask(f"gradient {step}", total, batch)
        continue
    if trouble == "best":
        ask(f"copy {step}", whole, batch)
    step_on = on_device if fault == "stall" else total
    ask(f"gradient {step}", step_on, batch)
    if trouble == "log":
        ask(f"mean {step}", total, batch[:, :1])
    if trouble == "thrift":
        continue
    ask(f"norm {step}", whole, batch)
    if step % 3 == 0:
        print("step", step, "loss", loss[0])
    if trouble == "save":
        wait_for_disk()
