import numpy as np


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
