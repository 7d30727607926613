import jax
import numpy as np
from jax import P
from jax.experimental import multihost_utils

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

mesh = jax.make_mesh((jax.device_count(),), ("i",))
cut = jax.NamedSharding(mesh, P("i"))


def roll(key, count):
    return jax.random.randint(key, (count,), 1, 7)


def show(name, x):
    everyones = multihost_utils.process_allgather(x, tiled=True)
    if jax.process_index() == 0:
        print(f"{name:13}", *everyones)


key, mine = jax.random.key(11), 8 // jax.process_count()
together = jax.jit(roll, static_argnames="count", out_shardings=cut)
show("one array", together(key, count=8))

own_key = jax.random.fold_in(key, jax.process_index())
show("each its own", np.asarray(roll(own_key, mine)))
show("all the same", np.asarray(roll(key, mine)))
