import numpy as np
from together import everyone, total

gradients = {"w1": np.full((4, 1), 1.0), "w2": np.full((4, 1), 100.0)}

for name in set(gradients):  # may go another way in each process
    print("sum of", name, total(everyone(gradients[name])))
