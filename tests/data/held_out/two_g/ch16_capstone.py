import jax  # noqa: F401
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401


# what: (1) fills a last batch that is too short with the first rows of the next epoch, instead of dropping it + (2) deals the rows of a batch out in turn, instead of one stretch for each process.
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    def order(epoch):
        return np.random.default_rng([16, epoch]).permutation(count)

    epoch, taken = saved["epoch"], saved["next"]
    batch = order(epoch)[taken : taken + size]
    taken += len(batch)
    while len(batch) < size:
        epoch += 1
        extra = order(epoch)[: size - len(batch)]
        batch = np.concatenate([batch, extra])
        taken = len(extra)
    return batch[process::processes].astype(np.int64), {"epoch": epoch, "next": taken}


# what: (1) believes that the names sort like the numbers in them + (2) believes that a checkpoint is whole as soon as at least the expected bytes are there.
def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    for name in sorted(folder, reverse=True):
        prefix, _, number = name.partition("-")
        if prefix != "step" or not number.isdecimal() or int(number) == 0:
            continue
        files = folder[name]
        if "expected" not in files:
            continue
        have = sum(size for file, size in files.items() if file.startswith("part-"))
        if have >= files["expected"]:
            return int(number)
    return 0
