"""Wrong answers of ch12_pitfalls that its mistakes.py does not know, written after the checks were finished."""

import jax
import numpy as np
from jax.experimental.multihost_utils import (
    broadcast_one_to_all,
    process_allgather,
)


def sum_by_name__mean(mine):
    return {
        name: process_allgather(mine[name]).mean(axis=0)
        for name in sorted(mine)
    }


def sum_by_name__stacked(mine):
    return {name: process_allgather(mine[name]) for name in sorted(mine)}


def sum_by_name__one_sorted_one_not(mine):
    names = sorted(mine) if jax.process_index() == 0 else list(mine)
    return {name: process_allgather(mine[name]).sum(axis=0) for name in names}


def sum_by_name__emptied(mine):
    sums = {}
    for name in sorted(mine):
        own = mine.pop(name)
        sums[name] = process_allgather(own).sum(axis=0)
    return sums


def padded_sum__rows_too(mine):
    longest = process_allgather(np.int32(mine.shape[1])).max()
    return process_allgather(
        np.pad(mine, ((0, 0), (0, longest - mine.shape[1])))
    ).sum(axis=0)


def padded_sum__repeated_not_zero(mine):
    longest = int(process_allgather(np.int32(mine.shape[1])).max())
    row = np.pad(mine.sum(axis=0), (0, longest - mine.shape[1]), mode="edge")
    return process_allgather(row).sum(axis=0)


def padded_sum__mean_of_rows(mine):
    longest = int(process_allgather(np.int32(mine.shape[1])).max())
    row = np.pad(mine.mean(axis=0), (0, longest - mine.shape[1]))
    return process_allgather(row).sum(axis=0)


def mean_of_batches__process_0_only(batches):
    own = np.float32(
        [sum(float(b.sum()) for b in batches), sum(b.size for b in batches)]
    )
    total, count = broadcast_one_to_all(own)
    return float(total / count)


def mean_of_batches__none_elsewhere(batches):
    own = np.float32(
        [sum(float(b.sum()) for b in batches), sum(b.size for b in batches)]
    )
    total, count = process_allgather(own).sum(axis=0)
    return float(total / count) if jax.process_index() == 0 else None


def steps_until_good__one_more(losses, goal):
    for step, loss in enumerate(losses, 1):
        if process_allgather(loss).mean() < goal:
            return step + 1
    return len(losses)


def steps_until_good__sum_not_mean(losses, goal):
    for step, loss in enumerate(losses, 1):
        if process_allgather(loss).sum() < goal:
            return step
    return len(losses)


def first_apart__numbers_from_one(calls):
    rows = range(min(len(c) for c in calls))
    k = next(k for k in rows if len({c[k] for c in calls}) > 1)
    row = [c[k] for c in calls]
    odd = next(i for i, call in enumerate(row) if row.count(call) == 1)
    return odd + 1, row[odd][1]


def first_apart__line_then_process(calls):
    rows = range(min(len(c) for c in calls))
    k = next(k for k in rows if len({c[k] for c in calls}) > 1)
    row = [c[k] for c in calls]
    odd = next(i for i, call in enumerate(row) if row.count(call) == 1)
    return row[odd][1], odd


def first_apart__longest_log(calls):
    process = max(range(len(calls)), key=lambda i: len(calls[i]))
    return process, calls[process][-1][1]


def who_is_missing__line_only(stacks):
    for stack in stacks:
        if "incident_data.py" in [file for file, _, _ in stack]:
            return stack[-1][1]


def who_is_missing__last_process(stacks):
    return len(stacks) - 1, stacks[-1][-1][1]


def who_is_missing__nobody(stacks):
    return None


def who_is_missing__always_where_it_reads(stacks):
    for process, stack in enumerate(stacks):
        text = " ".join(file for file, _, _ in stack)
        if "progress.py" not in text and "jax/" not in text:
            return process, 34
    return None


def who_is_missing__line_first(stacks):
    for process, stack in enumerate(stacks):
        if not any(
            f == "progress.py" or f.startswith("jax/") for f, _, _ in stack
        ):
            lines = [n for f, n, _ in stack if f == "incident.py"]
            return lines[0], process


def who_is_missing__outermost_line(stacks):
    for process, stack in enumerate(stacks):
        text = " ".join(file for file, _, _ in stack)
        if "progress.py" not in text and "jax/" not in text:
            return process, [n for f, n, _ in stack if f == "incident.py"][-1]
