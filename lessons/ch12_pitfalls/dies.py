import os
import signal
import sys

import numpy as np
from together import everyone, me, total

victim, number = int(sys.argv[1]), signal.Signals[sys.argv[2]]
for step in range(3):
    if me == victim and step == 1:
        os.kill(os.getpid(), number)
    print("step", step, total(everyone(np.ones((4, 1)))))
