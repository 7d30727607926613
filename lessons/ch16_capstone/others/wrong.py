"""Every known mistake of ch16_capstone once more, spelled differently."""

import re
import statistics

import numpy as np
from jax.experimental import multihost_utils


def _where(saved, count, size):
    over = count - saved["next"] < size
    return (saved["epoch"] + over, 0 if over else saved["next"])


def _rows(epoch, count):
    rng = np.random.default_rng([16, epoch])
    return rng.permutation(count)


def _part(rows, process, processes):
    return rows.reshape(processes, -1)[process]


def next_rows__from_the_beginning(saved, count, size, process, processes):
    rows = _rows(saved["epoch"], count)[:size]
    return _part(rows, process, processes), dict(saved, next=size)


def next_rows__own_share_counted(saved, count, size, process, processes):
    epoch, at = _where(saved, count, size)
    mine = _part(_rows(epoch, count)[at : at + size], process, processes)
    return mine, {"epoch": epoch, "next": at + len(mine)}


def next_rows__everybodys_rows(saved, count, size, process, processes):
    epoch, at = _where(saved, count, size)
    rows = [_rows(epoch, count)[at + k] for k in range(size)]
    return np.array(rows), {"epoch": epoch, "next": at + size}


def next_rows__every_other(saved, count, size, process, processes):
    epoch, at = _where(saved, count, size)
    rows = _rows(epoch, count)[at + process : at + size : processes]
    return rows, {"epoch": epoch, "next": at + size}


def next_rows__old_order(saved, count, size, process, processes):
    order = _rows(saved["epoch"], count)
    epoch, at = _where(saved, count, size)
    mine = _part(order[at : at + size], process, processes)
    return mine, {"epoch": epoch, "next": at + size}


def next_rows__one_epoch_early(saved, count, size, process, processes):
    epoch, at = saved["epoch"], saved["next"]
    if not at + size < count:
        epoch, at = epoch + 1, 0
    mine = _part(_rows(epoch, count)[at : at + size], process, processes)
    return mine, {"epoch": epoch, "next": at + size}


def next_rows__one_order_for_all_epochs(saved, count, size, process, processes):
    epoch, at = _where(saved, count, size)
    rows = np.random.default_rng(seed=16).permutation(count)[at:][:size]
    return _part(rows, process, processes), {"epoch": epoch, "next": at + size}


def next_rows__rest_filled_up(saved, count, size, process, processes):
    epoch, at = saved["epoch"], saved["next"]
    rows = list(_rows(epoch, count)[at : at + size])
    missing = size - len(rows)
    after = dict(epoch=epoch, next=at + size)
    if missing:
        rows += list(_rows(epoch + 1, count)[:missing])
        after = dict(epoch=epoch + 1, next=missing)
    return _part(np.array(rows), process, processes), after


def next_rows__next_epoch_at_once(saved, count, size, process, processes):
    epoch, at = _where(saved, count, size)
    mine = _part(_rows(epoch, count)[at : at + size], process, processes)
    then = dict(epoch=epoch, next=at + size)
    epoch, at = _where(then, count, size)
    return mine, dict(epoch=epoch, next=at)


def next_rows__in_file_order(saved, count, size, process, processes):
    epoch, at = _where(saved, count, size)
    share = size // processes
    first = at + process * share
    return np.array(range(first, first + share)), {
        "epoch": epoch,
        "next": at + size,
    }


def next_rows__split_before_batching(saved, count, size, process, processes):
    epoch, at = _where(saved, count, size)
    own = [
        list(part) for part in np.array_split(_rows(epoch, count), processes)
    ]
    own = own[process][at // processes :]
    after = {"epoch": epoch, "next": at + size}
    return np.array(own[: size // processes]), after


def _all(number):
    return [int(n) for n in multihost_utils.process_allgather(np.int32(number))]


def stop_after__own_step(begun, told):
    return (begun + 1) * max(_all(told))


def stop_after__only_who_was_told(begun, told):
    furthest = max(_all(begun))
    return furthest + 1 if told else 0


def stop_after__already_begun(begun, told):
    return max(_all(begun)) * max(_all(told))


def stop_after__the_earliest(begun, told):
    return (1 + min(_all(begun))) * max(_all(told))


def stop_after__step_of_the_told(begun, told):
    return max(_all((begun + 1) * told))


def stop_after__all_must_be_told(begun, told):
    return (max(_all(begun)) + 1) * min(_all(told))


def stop_after__nobody_asked(begun, told):
    return int(told) * (begun + 1)


def stop_after__process_0_decides(begun, told):
    both = multihost_utils.process_allgather(np.int32([begun, told]))
    at, asked = both[0].tolist()
    return at + 1 if asked else 0


def _checkpoints(folder):
    pattern = re.compile("step-([0-9]+)$")
    found = ((pattern.match(name), files) for name, files in folder.items())
    return [(int(match[1]), files) for match, files in found if match]


def _complete(files):
    held = 0
    for name in files:
        if name.startswith("part"):
            held += files[name]
    return "expected" in files and files["expected"] == held


def newest_whole__half_counts(folder):
    return max([0] + [step for step, _ in _checkpoints(folder)])


def newest_whole__sorted_as_text(folder):
    names = [
        f"step-{step}"
        for step, files in _checkpoints(folder)
        if _complete(files)
    ]
    return int(sorted(names)[-1][5:]) if names else 0


def newest_whole__unfinished_names(folder):
    best = 0
    for name, files in folder.items():
        if name.startswith("step-") and _complete(files):
            best = max(best, int(re.findall(r"\d+", name)[0]))
    return best


def newest_whole__end_is_enough(folder):
    ended = [s for s, files in _checkpoints(folder) if files.get("expected")]
    return max(ended) if ended else 0


def newest_whole__gives_up(folder):
    found = sorted(_checkpoints(folder), key=lambda pair: pair[0])
    return found[-1][0] if found and _complete(found[-1][1]) else 0


def newest_whole__all_files_counted(folder):
    best = 0
    for step, files in _checkpoints(folder):
        if 2 * files.get("expected", -1) == sum(files.values()):
            best = max(best, step)
    return best


def newest_whole__last_listed(folder):
    last = 0
    for step, files in _checkpoints(folder):
        last = step if _complete(files) else last
    return last


def _verdict(middles):
    for process, mine in enumerate(middles):
        rest = [m for p, m in enumerate(middles) if p != process]
        if mine > 2 * statistics.median(rest) and mine == max(middles):
            return process
    return -1


def slow_process__by_the_clock(begun, ready):
    columns = ready.T.tolist()
    middles = [statistics.median(column) for column in columns]
    return middles.index(max(middles))


def slow_process__from_the_first_start(begun, ready):
    since = ready - np.min(begun, axis=1, keepdims=True)
    return _verdict(np.median(since, axis=0).tolist())


def slow_process__one_long_step(begun, ready):
    return _verdict((np.sum(ready - begun, axis=0) / len(begun)).tolist())


def slow_process__always_somebody(begun, ready):
    middles = np.median(ready - begun, axis=0).tolist()
    return middles.index(max(middles))


def slow_process__the_first_step(begun, ready):
    return _verdict((ready[0] - begun[0]).tolist())


def slow_process__who_waits(begun, ready):
    return _verdict(np.median(begun[1:] - ready[:-1], axis=0).tolist())


def slow_process__itself_among_the_others(begun, ready):
    middles = np.median(ready - begun, axis=0).tolist()
    typical = statistics.median(middles)
    return middles.index(max(middles)) if max(middles) > 2 * typical else -1


def slow_process__fastest_other(begun, ready):
    middles = [statistics.median(p) for p in (ready - begun).T.tolist()]
    slowest = max(middles)
    found = slowest > 2 * sorted(middles)[0]
    return middles.index(slowest) if found else -1


def slow_process__mean_of_the_others(begun, ready):
    own = [float(np.median(p)) for p in (ready - begun).T]
    for p, mine in enumerate(own):
        rest = own[:p] + own[p + 1 :]
        if mine > 2 * sum(rest) / len(rest):
            return p
    return -1


def slow_process__means_throughout(begun, ready):
    took = ready - begun
    for i in range(took.shape[1]):
        if took[:, i].mean() > 2 * np.delete(took, i, axis=1).mean():
            return i
    return -1
