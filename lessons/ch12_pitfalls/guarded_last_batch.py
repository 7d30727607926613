import numpy as np
from together import everyone, me, total

from minipod.guard import watched

total = watched(total, "total")
for step in range(3 if me == 0 else 2):
    print("step", step, total(everyone(np.ones((4, 1)))))
