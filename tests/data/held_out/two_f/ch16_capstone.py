import numpy as np


# what: (1) Thinks process p reads every processes-th row of the batch, beginning with the p-th + (2) thinks a used-up epoch is saved as the beginning of the next one.
def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    epoch = saved["epoch"]
    first = saved["next"]
    if first + size > count:
        epoch += 1
        first = 0
    order = np.random.default_rng([16, epoch]).permutation(count)
    batch = order[first : first + size]
    after = {"epoch": epoch, "next": first + size}
    if after["next"] + size > count:
        after = {"epoch": epoch + 1, "next": 0}
    return batch[process::processes], after


# what: (1) Thinks the names sort as their numbers do, so that "step-9" is newer than "step-10" + (2) thinks all files beside "expected" count as parts.
def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    def number(name):
        digits = name[len("step-"):]
        plain = name.startswith("step-") and digits.isascii() and digits.isdigit()
        return int(digits) if plain else 0

    def whole(files):
        others = sum(size for file, size in files.items() if file != "expected")
        return files.get("expected", -1) == others

    for name in sorted(folder, reverse=True):
        if number(name) > 0 and whole(folder[name]):
            return number(name)
    return 0
