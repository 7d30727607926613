"""Other answers to the exercises of ch12_pitfalls: right ones, known mistakes, and other wrong ones."""

import jax
import numpy as np
from jax.experimental.multihost_utils import broadcast_one_to_all, process_allgather
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def sum_by_name__one_sorted_one_not(mine):
    names = sorted(mine) if jax.process_index() == 0 else list(mine)
    return {name: process_allgather(mine[name]).sum(axis=0) for name in names}


def sum_by_name__emptied(mine):
    sums = {}
    for name in sorted(mine):
        own = mine.pop(name)
        sums[name] = process_allgather(own).sum(axis=0)
    return sums


def mean_of_batches__process_0_only(batches):
    own = np.float32([sum(float(b.sum()) for b in batches), sum(b.size for b in batches)])
    total, count = broadcast_one_to_all(own)
    return float(total / count)


def steps_until_good__right(losses, goal):
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    for step in range(len(losses)):
        own = np.full(jax.local_device_count(), losses[step])
        everyone = jax.make_array_from_process_local_data(NamedSharding(mesh, P("i")), own)
        if float(everyone.mean()) < goal:
            break
    return step + 1


def steps_until_good__sum_not_mean(losses, goal):
    for step, loss in enumerate(losses, 1):
        if process_allgather(loss).sum() < goal:
            return step
    return len(losses)


def who_is_missing__last_process(stacks):
    return len(stacks) - 1, stacks[-1][-1][1]


def who_is_missing__outermost_line(stacks):
    for process, stack in enumerate(stacks):
        text = " ".join(file for file, _, _ in stack)
        if "progress.py" not in text and "jax/" not in text:
            return process, [n for f, n, _ in stack if f == "incident.py"][-1]
