import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from checkpoints import open_folder, restore, save
from jax import P
from jax.sharding import AxisType

from minipod.cluster import launch_arguments

folder, last = sys.argv[1], int(sys.argv[2])
jax.distributed.initialize(**launch_arguments())

table = np.load("data/train.npy", mmap_mode="r")  # f32[4096, 9], read as needed
mesh = jax.make_mesh((jax.device_count(),), ("i",), (AxisType.Auto,))
cut = jax.NamedSharding(mesh, P("i"))


def batch(step):  # a step's rows, the same however many read them
    chosen = np.random.default_rng([11, step]).choice(len(table), 256)
    return jax.make_array_from_callback(
        (256, 9), cut, lambda index: table[chosen[index[0]]]
    )


@jax.jit(out_shardings=cut)  # the hidden units are cut
def start(key):
    w = jax.random.normal(key, (32, 8)) / 3
    p = {"w": w, "v": jnp.ones(32) / 32}
    return {"p": p, "m": jax.tree.map(jnp.zeros_like, p)}


def loss(p, rows):  # rows: f32[256, 9], eight inputs and what to guess
    guess = jnp.tanh(rows[:, :8] @ p["w"].T) @ p["v"]
    return jnp.mean((guess - rows[:, 8]) ** 2)


@jax.jit(out_shardings=(cut, None))
def update(state, rows):
    value, gradient = jax.value_and_grad(loss)(state["p"], rows)
    m = jax.tree.map(lambda m, g: 0.9 * m + g, state["m"], gradient)
    p = jax.tree.map(lambda p, m: p - 0.1 * m, state["p"], m)
    return {"p": p, "m": m}, value


manager = open_folder(folder)
begin, state = restore(manager, start(jax.random.key(11)))
print("begins after step", begin)
values = [float("nan")] * begin
for step in range(begin + 1, last + 1):
    state, value = update(state, batch(step))
    values.append(float(value))
    if step % 10 == 0:
        save(manager, step, state)
print(f"loss of step {last}: {values[-1]:.6f}")
if jax.process_index() == 0:
    Path(f"{folder}.json").write_text(json.dumps(values))
