import jax
import jax.numpy as jnp
import numpy as np
from dataset import load_mine
from jax import P
from jax.experimental import multihost_utils

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

SIZE = 8  # rows that each process brings to a step
mine = load_mine("data")  # f32[rows, 4]: rows is not the same everywhere
rows = multihost_utils.process_allgather(np.array([len(mine)]), tiled=True)
steps = -(-rows.max() // SIZE)  # enough for the largest, for everyone

mask = np.arange(steps * SIZE).reshape(steps, SIZE) < len(mine)
x = np.zeros((steps, SIZE, 4), np.float32)
x[mask] = mine  # row after row; what is left stays zero


@jax.jit
def sums(w, x, mask):  # x: f32[SIZE * processes, 4], mask: bool
    wrong = x[:, :3] @ w - x[:, 3]
    return jnp.sum(wrong**2, where=mask), jnp.sum(mask)


mesh = jax.make_mesh((jax.device_count(),), ("i",))
cut = jax.NamedSharding(mesh, P("i"))
w, total, count = np.float32([1, -2, 3]), 0.0, 0
for k in range(steps):
    batch = jax.make_array_from_process_local_data(cut, (x[k], mask[k]))
    loss, n = sums(w, *batch)
    print(f"step {k}: {mask[k].sum()} rows of mine, {n} in all")
    total, count = total + float(loss), count + int(n)
print("loss", total / count, "of", count, "rows")
