"""Other right answers of ch12_pitfalls."""

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def sum_by_name(mine):
    names = sorted(mine)
    flat = np.concatenate([mine[name] for name in names])
    total = multihost_utils.process_allgather(flat).sum(axis=0)
    cuts = np.cumsum([mine[name].size for name in names])[:-1]
    return dict(zip(names, np.split(total, cuts), strict=True))


def padded_sum(mine):
    widths = multihost_utils.process_allgather(np.array([mine.shape[1]]))
    whole = np.zeros((mine.shape[0], int(widths.max())), mine.dtype)
    whole[:, : mine.shape[1]] = mine
    return multihost_utils.process_allgather(whole, tiled=True).sum(axis=0)


def mean_of_batches(batches):
    total, count, batches = 0.0, 0.0, iter(batches)
    while True:
        batch = next(batches, None)
        mine = [0, 0, 0] if batch is None else [1, batch.sum(), batch.size]
        come, more, numbers = multihost_utils.process_allgather(
            np.float32(mine)
        ).sum(axis=0)
        if not come:
            return float(total / count)
        total, count = total + more, count + numbers


def steps_until_good(losses, goal):
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    for step in range(len(losses)):
        own = np.full(jax.local_device_count(), losses[step])
        everyone = jax.make_array_from_process_local_data(
            NamedSharding(mesh, P("i")), own
        )
        if float(everyone.mean()) < goal:
            break
    return step + 1


def first_apart(calls):
    for k in range(1000):
        groups = {}
        for process, names in enumerate(calls):
            if len(names) > k:
                groups.setdefault(names[k], []).append(process)
        if len(groups) == 2:
            (name, line), (process,) = sorted(
                groups.items(), key=lambda group: len(group[1])
            )[0]
            return process, line


def who_is_missing(stacks):
    free = {
        process: [n for file, n, _ in stack if file.endswith("incident.py")]
        for process, stack in enumerate(stacks)
        if "progress.py" not in [file for file, _, _ in stack]
        and not any(file[:4] == "jax/" for file, _, _ in stack)
    }
    return next(((i, lines[0]) for i, lines in free.items()), None)
