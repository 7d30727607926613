import jax
import numpy as np
from jax.experimental import multihost_utils


# what: Drops a last batch that is just full + counts only the own rows.
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    epoch, first = saved["epoch"], saved["next"]
    if first + size >= count:
        epoch, first = epoch + 1, 0
    order = np.random.default_rng([16, epoch]).permutation(count)
    part = size // processes
    start = first + process * part
    rows = order[start : start + part]
    return rows, {"epoch": epoch, "next": first + part}


# what: Only process 0's word counts + the last step begun, not the one after.
def stop_after(begun: int, told: bool) -> int:
    told = multihost_utils.broadcast_one_to_all(np.int32(told))
    furthest = multihost_utils.process_allgather(np.int32(begun)).max()
    return int(furthest) if told else 0


# what: Orders the names as words, so 9 is after 10 + more bytes are whole, too.
def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    for name in sorted(folder, reverse=True):
        number, files = name.removeprefix("step-"), folder[name]
        if number == name or not number.isdecimal() or int(number) == 0:
            continue
        parts = sum(n for f, n in files.items() if f.startswith("part-"))
        if "expected" in files and parts >= files["expected"]:
            return int(number)
    return 0


# what: Means, which one long step spoils + argmax says 0 where none is slow.
def slow_process(begun: np.ndarray, ready: np.ndarray) -> int:
    own = np.mean(ready - begun, axis=0)
    others = [np.median(np.delete(own, p)) for p in range(len(own))]
    return int(np.argmax(own > 2 * np.array(others)))
