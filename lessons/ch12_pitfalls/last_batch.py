import numpy as np
from together import everyone, me, total

batches = [np.ones((4, 1))] * (3 if me == 0 else 2)

for step, batch in enumerate(batches):
    print("step", step, total(everyone(batch)))
