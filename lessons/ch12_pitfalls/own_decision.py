import numpy as np
from together import everyone, me, total

loss = 1.0
for step in range(4):
    print("step", step, total(everyone(np.ones((4, 1)))))
    loss *= 0.5 if me == 0 else 0.6  # each on its own data
    if loss < 0.3:
        print("good enough")
        break
