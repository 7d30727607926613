import jax
import numpy as np
from jax import P
from progress import ask
from together import everyone, me, mesh, total

weights = everyone(np.ones((4, 2)))
whole = jax.jit(lambda w: w, out_shardings=jax.NamedSharding(mesh, P()))

for step in range(1, 9):
    loss = ask(f"sum {step}", total, weights)
    if me == 1 and step == 4:
        best = ask(f"copy {step}", whole, weights)
    if step % 3 == 0:
        print("step", step, "loss", loss[0])
