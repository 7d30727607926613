import time

import numpy as np
from together import everyone, me, total

for step in range(3):
    if me == 1:
        time.sleep(1)  # a slow disk
    print("step", step, total(everyone(np.ones((4, 1)))))
