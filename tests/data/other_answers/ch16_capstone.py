"""Other answers to the exercises of ch16_capstone: right ones, known mistakes, and other wrong ones."""

import numpy as np
from jax.experimental import multihost_utils


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


def newest_whole__nothing_expected(folder):
    def held(files):
        return sum(n for name, n in files.items() if name[:5] == "part-")

    found = list(_numbered(folder))
    whole = [s for s, f in found if f.get("expected", 0) == held(f)]
    return max(whole, default=0)


def newest_whole__two_parts_only(folder):
    def two(files):
        return files.get("expected") == sum(files.get(f"part-{k}", 0) for k in range(2))

    return max((s for s, files in _numbered(folder) if two(files)), default=0)
