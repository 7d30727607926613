import numpy as np
from jax.experimental.multihost_utils import process_allgather
from together import everyone, me, total

batches = iter([np.ones((4, 1))] * (3 if me == 0 else 2))
nothing, step = np.zeros((4, 1)), 0

while True:
    batch = next(batches, None)
    if not process_allgather(np.bool_(batch is not None)).any():
        break  # nobody has a batch left: all know it at the same step
    mine = nothing if batch is None else batch
    print("step", step, total(everyone(mine)))
    step += 1
