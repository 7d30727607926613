import numpy as np
from jax.experimental.multihost_utils import process_allgather
from together import everyone, me, total

for step in range(3):
    fine = not (me == 1 and step == 1)  # could this process read its batch?
    if not (all_fine := process_allgather(np.bool_(fine))).all():
        print("stop: no batch in process", int(all_fine.argmin()))
        break
    print("step", step, total(everyone(np.ones((4, 1)))))
