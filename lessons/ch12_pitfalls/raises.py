import numpy as np
from together import everyone, me, total

for step in range(3):
    if me == 1 and step == 1:
        raise ValueError("record 17 of my file is broken")
    print("step", step, total(everyone(np.ones((4, 1)))))
