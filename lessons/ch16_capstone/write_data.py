"""Write data/train.npy, f32[4096, 9]: eight inputs and what to guess."""

from pathlib import Path

import numpy as np

rng = np.random.default_rng(16)
x = rng.normal(size=(4096, 8))
y = np.sin(x[:, :1] + x[:, 1:2])
Path("data").mkdir(exist_ok=True)
np.save("data/train.npy", np.float32(np.concatenate([x, y], axis=1)))
print("4096 rows of 9 numbers")
