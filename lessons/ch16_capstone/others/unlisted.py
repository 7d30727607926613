"""Wrong answers of ch16_capstone that its mistakes.py does not know."""

import numpy as np
from jax.experimental import multihost_utils


def _batch(saved, count, size, seed=16):
    epoch, first = saved["epoch"], saved["next"]
    if first + size > count:
        epoch, first = epoch + 1, 0
    order = np.random.default_rng([seed, epoch]).permutation(count)
    return epoch, first, order[first : first + size]


def next_rows__another_seed(saved, count, size, process, processes):
    epoch, first, batch = _batch(saved, count, size, seed=61)
    rows = np.split(batch, processes)[process]
    return rows, {"epoch": epoch, "next": first + size}


def next_rows__last_process_first(saved, count, size, process, processes):
    epoch, first, batch = _batch(saved, count, size)
    rows = np.split(batch, processes)[processes - 1 - process]
    return rows, {"epoch": epoch, "next": first + size}


def next_rows__the_state_before(saved, count, size, process, processes):
    _, _, batch = _batch(saved, count, size)
    return np.split(batch, processes)[process], saved


def next_rows__no_state(saved, count, size, process, processes):
    _, _, batch = _batch(saved, count, size)
    return np.split(batch, processes)[process]


def stop_after__one_later(begun, told):
    mine = np.array([[begun, told]])
    everyone = multihost_utils.process_allgather(mine, tiled=True)
    return int(everyone[:, 0].max()) + 2 if everyone[:, 1].any() else 0


def stop_after__never_zero(begun, told):
    mine = np.array([begun])
    return int(multihost_utils.process_allgather(mine, tiled=True).max()) + 1


def stop_after__the_middle(begun, told):
    mine = np.array([[begun, told]])
    everyone = multihost_utils.process_allgather(mine, tiled=True)
    middle = int(everyone[:, 0].mean()) + 1
    return middle if everyone[:, 1].any() else 0


def _ok(files):
    parts = sum(n for name, n in files.items() if name.startswith("part-"))
    return files.get("expected") == parts


def _numbered(folder):
    for name, files in folder.items():
        if name.startswith("step-") and name[5:].isdigit():
            yield int(name[5:]), files


def newest_whole__oldest(folder):
    return min((s for s, files in _numbered(folder) if _ok(files)), default=0)


def newest_whole__largest(folder):
    whole = [(sum(f.values()), s) for s, f in _numbered(folder) if _ok(f)]
    return max(whole, default=(0, 0))[1]


def newest_whole__its_name(folder):
    whole = [s for s, files in _numbered(folder) if _ok(files)]
    return f"step-{max(whole)}" if whole else ""


def newest_whole__nothing_expected(folder):
    def held(files):
        return sum(n for name, n in files.items() if name[:5] == "part-")

    found = list(_numbered(folder))
    whole = [s for s, f in found if f.get("expected", 0) == held(f)]
    return max(whole, default=0)


def newest_whole__two_parts_only(folder):
    def two(files):
        return files.get("expected") == sum(
            files.get(f"part-{k}", 0) for k in range(2)
        )

    return max((s for s, files in _numbered(folder) if two(files)), default=0)


def slow_process__the_quickest(begun, ready):
    return int(np.median(ready - begun, axis=0).argmin())


def slow_process__three_times(begun, ready):
    own = np.median(ready - begun, axis=0)
    slowest = int(own.argmax())
    others = np.median(np.delete(own, slowest))
    return slowest if own[slowest] > 3.5 * others else -1


def slow_process__counted_from_one(begun, ready):
    own = np.median(ready - begun, axis=0)
    slowest = int(own.argmax())
    others = np.median(np.delete(own, slowest))
    return slowest + 1 if own[slowest] > 2 * others else -1


def slow_process__its_name(begun, ready):
    own = np.median(ready - begun, axis=0)
    slowest = int(own.argmax())
    others = np.median(np.delete(own, slowest))
    return f"process {slowest}" if own[slowest] > 2 * others else None
