import numpy as np
from jax.experimental.multihost_utils import process_allgather
from together import everyone, me, total

loss = 1.0
for step in range(4):
    print("step", step, total(everyone(np.ones((4, 1)))))
    loss *= 0.5 if me == 0 else 0.6  # each on its own data
    if (process_allgather(np.float32(loss)) < 0.3).all():
        print("good enough for all")
        break
