"""Right, written another way: a loop over batches, sums of flags, regular expressions, sorted lists."""

import re
import statistics

import numpy as np
from jax.experimental import multihost_utils


def next_rows(saved, count, size, process, processes):
    if count - saved["next"] >= size:
        after = dict(saved)
    else:
        after = {"epoch": saved["epoch"] + 1, "next": 0}
    rng = np.random.default_rng([16, after["epoch"]])
    share = size // processes
    first = after["next"] + process * share
    after["next"] += size
    return rng.permutation(count)[first : first + share], after


def stop_after(begun, told):
    gather = multihost_utils.process_allgather
    steps = gather(np.int32(begun))
    if not gather(np.int32(told)).sum():
        return 0
    return 1 + max(int(step) for step in steps)


def newest_whole(folder):
    for step in sorted(
        (int(m[1]) for m in map(re.compile(r"step-(\d+)$").match, folder) if m),
        reverse=True,
    ):
        files = folder[f"step-{step}"]
        parts = [n for name, n in files.items() if re.match(r"part-\d", name)]
        if "expected" in files and files["expected"] == sum(parts):
            return step
    return 0


def slow_process(begun, ready):
    middles = [
        statistics.median(column) for column in (ready - begun).T.tolist()
    ]
    for process, mine in enumerate(middles):
        others = middles[:process] + middles[process + 1 :]
        if mine > 2 * statistics.median(others):
            return process
    return -1
