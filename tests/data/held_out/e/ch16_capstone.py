import jax
import numpy as np
from jax.experimental import multihost_utils


# what: batches always begin at multiples of the batch size, so what was taken is rounded down to whole batches of the present size.
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    epoch = saved["epoch"]
    begin = saved["next"] // size * size
    if begin + size > count:
        epoch, begin = epoch + 1, 0
    order = np.random.default_rng([16, epoch]).permutation(count)
    batch = order[begin : begin + size]
    mine = size // processes
    rows = batch[process * mine : (process + 1) * mine]
    return rows, {"epoch": epoch, "next": begin + size}


# what: the process that was told decides: it is enough to stop after the next step of those that got the signal.
def stop_after(begun: int, told: bool) -> int:
    mine = np.array([begun, 1 if told else 0], dtype=np.int32)
    everyone = np.asarray(multihost_utils.process_allgather(mine)).reshape(-1, 2)
    deciding = everyone[everyone[:, 1] == 1, 0]
    if deciding.size == 0:
        return 0
    return int(deciding.max()) + 1


# what: parts are numbered without gaps, so one reads part-0, part-1, … until one is missing, and these are all parts.
def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    newest = 0
    for name, files in folder.items():
        number = name.removeprefix("step-")
        if number == name or not (number.isascii() and number.isdigit()):
            continue
        if "expected" not in files:
            continue
        total, i = 0, 0
        while f"part-{i}" in files:
            total += files[f"part-{i}"]
            i += 1
        if total == files["expected"]:
            newest = max(newest, int(number))
    return newest


# what: a process is compared with the typical process of the whole group, itself included, since one value can't shift a median much.
def slow_process(begun: np.ndarray, ready: np.ndarray) -> int:
    typical = np.median(ready - begun, axis=0)
    usual = np.median(typical)
    slowest = int(np.argmax(typical))
    return slowest if typical[slowest] > 2 * usual else -1
