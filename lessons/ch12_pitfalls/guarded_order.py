import numpy as np
from together import everyone, total

from minipod.guard import watched

gradients = {"w1": np.full((4, 1), 1.0), "w2": np.full((4, 1), 100.0)}

for name in set(gradients):
    print(watched(total, f"sum of {name}")(everyone(gradients[name])))
