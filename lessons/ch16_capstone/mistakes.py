"""Known wrong answers of ch16_capstone, as code; words.toml explains them."""

import re

import numpy as np
from jax.experimental import multihost_utils


def _order(epoch, count):
    return np.random.default_rng([16, epoch]).permutation(count)


def _begin(saved, count, size):
    if saved["next"] + size > count:
        return saved["epoch"] + 1, 0
    return saved["epoch"], saved["next"]


def _split(batch, process, processes):
    return np.split(batch, processes)[process]


def next_rows__from_the_beginning(saved, count, size, process, processes):
    batch = _order(saved["epoch"], count)[:size]
    after = {"epoch": saved["epoch"], "next": size}
    return _split(batch, process, processes), after


def next_rows__own_share_counted(saved, count, size, process, processes):
    epoch, first = _begin(saved, count, size)
    batch = _order(epoch, count)[first : first + size]
    after = {"epoch": epoch, "next": first + size // processes}
    return _split(batch, process, processes), after


def next_rows__everybodys_rows(saved, count, size, process, processes):
    epoch, first = _begin(saved, count, size)
    batch = _order(epoch, count)[first : first + size]
    return batch, {"epoch": epoch, "next": first + size}


def next_rows__every_other(saved, count, size, process, processes):
    epoch, first = _begin(saved, count, size)
    batch = _order(epoch, count)[first : first + size]
    return batch[process::processes], {"epoch": epoch, "next": first + size}


def next_rows__old_order(saved, count, size, process, processes):
    epoch, first = _begin(saved, count, size)
    batch = _order(saved["epoch"], count)[first : first + size]
    after = {"epoch": epoch, "next": first + size}
    return _split(batch, process, processes), after


def next_rows__one_epoch_early(saved, count, size, process, processes):
    epoch, first = saved["epoch"], saved["next"]
    if first + size >= count:
        epoch, first = epoch + 1, 0
    batch = _order(epoch, count)[first : first + size]
    after = {"epoch": epoch, "next": first + size}
    return _split(batch, process, processes), after


def next_rows__one_order_for_all_epochs(saved, count, size, process, processes):
    epoch, first = _begin(saved, count, size)
    order = np.random.default_rng(16).permutation(count)
    after = {"epoch": epoch, "next": first + size}
    return _split(order[first : first + size], process, processes), after


def next_rows__seeds_added(saved, count, size, process, processes):
    epoch, first = _begin(saved, count, size)
    order = np.random.default_rng(16 + epoch).permutation(count)
    after = {"epoch": epoch, "next": first + size}
    return _split(order[first : first + size], process, processes), after


def next_rows__rest_filled_up(saved, count, size, process, processes):
    epoch, first = saved["epoch"], saved["next"]
    both = [_order(epoch, count), _order(epoch + 1, count)]
    batch = np.concatenate(both)[first : first + size]
    end = first + size
    after = {"epoch": epoch, "next": end}
    if end > count:
        after = {"epoch": epoch + 1, "next": end - count}
    return _split(batch, process, processes), after


def next_rows__next_epoch_at_once(saved, count, size, process, processes):
    epoch, first = _begin(saved, count, size)
    batch = _order(epoch, count)[first : first + size]
    after = {"epoch": epoch, "next": first + size}
    if after["next"] + size > count:
        after = {"epoch": epoch + 1, "next": 0}
    return _split(batch, process, processes), after


def next_rows__in_file_order(saved, count, size, process, processes):
    epoch, first = _begin(saved, count, size)
    batch = np.arange(first, first + size)
    after = {"epoch": epoch, "next": first + size}
    return _split(batch, process, processes), after


def next_rows__split_before_batching(saved, count, size, process, processes):
    epoch, first = _begin(saved, count, size)
    mine = np.array_split(_order(epoch, count), processes)[process]
    share, at = size // processes, first // processes
    return mine[at : at + share], {"epoch": epoch, "next": first + size}


def next_rows__equal_parts_of_the_epoch(saved, count, size, process, processes):
    epoch, first = _begin(saved, count, size)
    part, share = count // processes, size // processes
    at = process * part + first // processes
    rows = _order(epoch, count)[at : at + share]
    return rows, {"epoch": epoch, "next": first + size}


def _gathered(begun, told):
    mine = np.array([[begun, told]])
    everyone = multihost_utils.process_allgather(mine, tiled=True)
    return everyone[:, 0], everyone[:, 1].astype(bool)


def stop_after__own_step(begun, told):
    _, all_told = _gathered(begun, told)
    return begun + 1 if all_told.any() else 0


def stop_after__only_who_was_told(begun, told):
    steps, _ = _gathered(begun, told)
    return int(steps.max()) + 1 if told else 0


def stop_after__already_begun(begun, told):
    steps, all_told = _gathered(begun, told)
    return int(steps.max()) if all_told.any() else 0


def stop_after__the_earliest(begun, told):
    steps, all_told = _gathered(begun, told)
    return int(steps.min()) + 1 if all_told.any() else 0


def stop_after__step_of_the_told(begun, told):
    steps, all_told = _gathered(begun, told)
    return int(steps[all_told].max()) + 1 if all_told.any() else 0


def stop_after__all_must_be_told(begun, told):
    steps, all_told = _gathered(begun, told)
    return int(steps.max()) + 1 if all_told.all() else 0


def stop_after__nobody_asked(begun, told):
    return begun + 1 if told else 0


def stop_after__process_0_decides(begun, told):
    mine = np.array([begun, told], np.int32)
    first, asked = multihost_utils.broadcast_one_to_all(mine)
    return int(first) + 1 if asked else 0


def _steps(folder):
    return {
        int(name[5:]): files
        for name, files in folder.items()
        if re.fullmatch(r"step-\d+", name)
    }


def _whole(files):
    parts = (n for file, n in files.items() if file.startswith("part-"))
    return files.get("expected") == sum(parts)


def newest_whole__half_counts(folder):
    return max(_steps(folder), default=0)


def newest_whole__sorted_as_text(folder):
    whole = {step for step, files in _steps(folder).items() if _whole(files)}
    return max(whole, key=str, default=0)


def newest_whole__unfinished_names(folder):
    steps = [0]
    for name, files in folder.items():
        found = re.match(r"step-(\d+)", name)
        if found and _whole(files):
            steps.append(int(found[1]))
    return max(steps)


def newest_whole__end_is_enough(folder):
    steps = _steps(folder).items()
    return max((s for s, files in steps if "expected" in files), default=0)


def newest_whole__gives_up(folder):
    steps = _steps(folder)
    newest = max(steps, default=0)
    return newest if newest and _whole(steps[newest]) else 0


def newest_whole__all_files_counted(folder):
    whole = [0]
    for step, files in _steps(folder).items():
        total = sum(n for file, n in files.items() if file != "expected")
        if files.get("expected") == total:
            whole.append(step)
    return max(whole)


def newest_whole__numbered_parts_alone(folder):
    whole = [0]
    for step, files in _steps(folder).items():
        parts = (n for f, n in files.items() if re.fullmatch(r"part-\d+", f))
        if files.get("expected") == sum(parts):
            whole.append(step)
    return max(whole)


def newest_whole__until_a_gap(folder):
    whole = [0]
    for step, files in _steps(folder).items():
        total = i = 0
        while f"part-{i}" in files:
            total, i = total + files[f"part-{i}"], i + 1
        if files.get("expected") == total:
            whole.append(step)
    return max(whole)


def newest_whole__last_listed(folder):
    whole = [step for step, files in _steps(folder).items() if _whole(files)]
    return whole[-1] if whole else 0


def newest_whole__more_is_whole(folder):
    whole = [0]
    for step, files in _steps(folder).items():
        parts = sum(n for f, n in files.items() if f.startswith("part-"))
        if "expected" in files and parts >= files["expected"]:
            whole.append(step)
    return max(whole)


def _slow(own):
    slowest = int(own.argmax())
    others = np.median(np.delete(own, slowest))
    return slowest if own[slowest] > 2 * others else -1


def slow_process__by_the_clock(begun, ready):
    return int(np.median(ready, axis=0).argmax())


def slow_process__from_the_first_start(begun, ready):
    return _slow(np.median(ready - begun.min(axis=1)[:, None], axis=0))


def slow_process__one_long_step(begun, ready):
    return _slow((ready - begun).mean(axis=0))


def slow_process__always_somebody(begun, ready):
    return int(np.median(ready - begun, axis=0).argmax())


def slow_process__the_first_step(begun, ready):
    return _slow((ready - begun)[0])


def slow_process__who_waits(begun, ready):
    waits = np.median(begun[1:] - ready[:-1], axis=0)
    return _slow(waits)


def slow_process__itself_among_the_others(begun, ready):
    own = np.median(ready - begun, axis=0)
    slowest = int(own.argmax())
    return slowest if own[slowest] > 2 * np.median(own) else -1


def slow_process__fastest_other(begun, ready):
    own = np.median(ready - begun, axis=0)
    slowest = int(own.argmax())
    return slowest if own[slowest] > 2 * own.min() else -1


def slow_process__mean_of_the_others(begun, ready):
    own = np.median(ready - begun, axis=0)
    slowest = int(own.argmax())
    others = np.delete(own, slowest).mean()
    return slowest if own[slowest] > 2 * others else -1


def slow_process__means_throughout(begun, ready):
    own = (ready - begun).mean(axis=0)
    slowest = int(own.argmax())
    others = np.delete(own, slowest).mean()
    return slowest if own[slowest] > 2 * others else -1


def slow_process__nobody_found(begun, ready):
    own = np.median(np.diff(begun, axis=0), axis=0)
    slowest = int(own.argmax())
    others = np.median(np.delete(own, slowest))
    return slowest if own[slowest] > 2 * others else -1


def slow_process__just_twice(begun, ready):
    own = np.median(ready - begun, axis=0)
    slowest = int(own.argmax())
    others = np.median(np.delete(own, slowest))
    return slowest if own[slowest] >= 2 * others else -1


def slow_process__nobody_is_process_0(begun, ready):
    return max(0, _slow(np.median(ready - begun, axis=0)))
