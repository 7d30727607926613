import time

import jax
import numpy as np
from jax import P
from progress import ask
from together import everyone, me, mesh


def numbers(x, step):  # what a device computes; one of them stops
    if x[0, 0] == 7 and step == 3:
        time.sleep(3600)
    return x


@jax.jit
@jax.shard_map(mesh=mesh, in_specs=(P("i"), P()), out_specs=P())
def total(x, step):
    x = jax.pure_callback(numbers, jax.typeof(x), x, step)
    return jax.lax.psum(x[0], "i")


rows = everyone(np.arange(4.0)[:, None] + 4 * me)
for step in range(1, 9):
    loss = ask(f"sum {step}", total, rows, step)
