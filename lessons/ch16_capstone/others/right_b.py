"""Right, written another way again: reshaped batches, psum over devices, the newest first, one sort."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P


def next_rows(saved, count, size, process, processes):
    whole = count // size * size
    epoch = saved["epoch"] + (saved["next"] + size > count)
    turn = 0 if epoch > saved["epoch"] else saved["next"] // size
    order = np.random.default_rng([16, epoch]).permutation(count)[:whole]
    rows = order.reshape(-1, processes, size // processes)[turn, process]
    return rows, dict(epoch=epoch, next=size * (turn + 1))


def stop_after(begun, told):
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    mine = np.tile(np.int32([[begun, told]]), (jax.local_device_count(), 1))
    cut = NamedSharding(mesh, P("i"))
    every = jax.make_array_from_process_local_data(cut, mine)
    most = jax.jit(
        lambda x: jnp.max(x, axis=0), out_shardings=NamedSharding(mesh, P())
    )(every)
    furthest, anybody = (int(n) for n in most)
    return (furthest + 1) * anybody


def newest_whole(folder):
    def step_of(name):
        head, _, tail = name.partition("-")
        return int(tail) if head == "step" and tail.isdigit() else 0

    for name in sorted(folder, key=step_of, reverse=True):
        files = dict(folder[name])
        expected = files.pop("expected", None)
        held = sum(n for file, n in files.items() if file[:5] == "part-")
        if step_of(name) and held == expected:
            return step_of(name)
    return 0


def slow_process(begun, ready):
    own = np.median(np.asarray(ready) - begun, axis=0)
    order = np.argsort(own)
    factor = own[order[-1]] / np.median(own[order[:-1]])
    return int(order[-1]) if factor > 2 else -1
