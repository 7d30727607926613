"""Known wrong answers of ch12_pitfalls, as code; words.toml explains them."""

from collections import Counter

import jax
import numpy as np
from jax.experimental import multihost_utils

gather = multihost_utils.process_allgather


def sum_by_name__own_order(mine):
    return {name: gather(part).sum(axis=0) for name, part in mine.items()}


def sum_by_name__own_only(mine):
    return {name: part * jax.process_count() for name, part in mine.items()}


def sum_by_name__sorted_by_size(mine):
    names = sorted(mine, key=lambda name: float(abs(mine[name]).sum()))
    return {name: gather(mine[name]).sum(axis=0) for name in names}


def sum_by_name__sorted_by_hash(mine):
    names = sorted(mine, key=hash)
    return {name: gather(mine[name]).sum(axis=0) for name in names}


def sum_by_name__names_sorted_alone(mine):
    sums = [gather(part).sum(axis=0) for part in mine.values()]
    return dict(zip(sorted(mine), sums, strict=True))


def _agree(own, among):
    """One whole number out of those of all processes."""
    return int(among(gather(np.int32(own))))


def _padded(mine, width):
    row = mine.sum(axis=0)
    row = np.pad(row, (0, max(0, width - row.size)))[:width]
    return gather(row).sum(axis=0)


def padded_sum__to_the_shortest(mine):
    return _padded(mine, _agree(mine.shape[1], np.min))


def padded_sum__to_process_0(mine):
    return _padded(mine, _agree(mine.shape[1], lambda all_: all_[0]))


def padded_sum__own_only(mine):
    width = _agree(mine.shape[1], np.max)
    return np.pad(mine.sum(axis=0), (0, width - mine.shape[1]))


def padded_sum__in_front(mine):
    width = _agree(mine.shape[1], np.max)
    row = np.pad(mine.sum(axis=0), (width - mine.shape[1], 0))
    return gather(row).sum(axis=0)


def padded_sum__to_a_fixed_width(mine):
    return _padded(mine, 128)


def padded_sum__filled_by_repeating(mine):
    row = mine.sum(axis=0)
    width = _agree(row.size, np.max)
    return gather(np.tile(row, width)[:width]).sum(axis=0)


def mean_of_batches__mean_of_means(batches):
    mean = np.mean(batches) if batches else 0.0
    return float(gather(np.float32(mean)).mean())


def mean_of_batches__mean_of_means_nan(batches):
    total = sum(float(batch.mean()) for batch in batches)
    mean = total / len(batches) if batches else float("nan")
    return float(gather(np.float32(mean)).mean())


def mean_of_batches__rest_dropped(batches):
    common = _agree(len(batches), np.min)
    size = _agree(batches[0].size if batches else 0, np.max)
    total = sum(float(batch.sum()) for batch in batches[:common])
    total = float(gather(np.float32(total)).sum())
    return total / max(1, common * size * jax.process_count())


def mean_of_batches__padding_counted(batches):
    steps = _agree(len(batches), np.max)
    size = _agree(batches[0].size if batches else 0, np.max)
    total = sum(float(batch.sum()) for batch in batches)
    total = float(gather(np.float32(total)).sum())
    return total / (steps * size * jax.process_count())


def mean_of_batches__padding_needs_one(batches):
    steps = _agree(len(batches), np.max)
    size = batches[0].size
    total = sum(float(batch.sum()) for batch in batches)
    total = float(gather(np.float32(total)).sum())
    return total / (steps * size * jax.process_count())


def mean_of_batches__own_only(batches):
    return float(np.mean(batches)) if batches else 0.0


def mean_of_batches__one_never_comes(batches):
    if not batches:
        return 0.0
    mine = np.float32([np.sum(batches), np.size(batches)])
    total, count = gather(mine).sum(axis=0)
    return float(total / count)


def mean_of_batches__batches_counted(batches):
    own = np.float32([np.sum(batches), len(batches)])
    total, count = gather(own).sum(axis=0)
    return float(total / count)


def steps_until_good__own_decision(losses, goal):
    steps = 0
    for loss in losses:
        gather(np.float32(loss))
        steps += 1
        if loss < goal:
            break
    return steps


def steps_until_good__breaks_then_gathers(losses, goal):
    steps = 0
    for loss in losses:
        gather(np.float32(loss))
        steps += 1
        if loss < goal:
            break
    return int(gather(np.int32(steps)).max())


def steps_until_good__or_equal(losses, goal):
    return _first(gather(losses).mean(axis=0) <= goal)


def _first(good):
    found = np.flatnonzero(good)
    return int(found[0]) + 1 if found.size else len(good)


def steps_until_good__as_soon_as_one(losses, goal):
    return _first((gather(losses) < goal).any(axis=0))


def steps_until_good__once_all_are(losses, goal):
    return _first((gather(losses) < goal).all(axis=0))


def steps_until_good__process_0_decides(losses, goal):
    return _first(multihost_utils.broadcast_one_to_all(losses) < goal)


def steps_until_good__from_zero(losses, goal):
    mean = gather(losses).mean(axis=0)
    found = np.flatnonzero(mean < goal)
    return int(found[0]) if found.size else len(losses)


def steps_until_good__own_count(losses, goal):
    gather(np.float32(losses))
    return _first(losses < goal)


def steps_until_good__each_ones_own_step(losses, goal):
    return int(gather(np.int32(_first(losses < goal))).max())


def steps_until_good__mean_over_steps(losses, goal):
    good = np.flatnonzero(gather(losses).mean(axis=1) < goal)
    return int(good[0]) + 1 if good.size else len(losses)


def steps_until_good__mean_so_far(losses, goal):
    total = gather(losses).mean(axis=0).cumsum()
    return _first(total / np.arange(1, len(losses) + 1) < goal)


def steps_until_good__never_is_the_first(losses, goal):
    return int(np.argmax(gather(losses).mean(axis=0) < goal)) + 1


def _part(calls):
    """(position, how often each call was asked for there) where they part."""
    for k in range(max(map(len, calls))):
        counts = Counter(names[k] for names in calls if k < len(names))
        if len(counts) > 1:
            return k, counts
    return max(map(len, calls)) - 1, counts


def _odd(calls):
    k, counts = _part(calls)
    rare = min(counts, key=counts.__getitem__)
    return next(i for i, c in enumerate(calls) if c[k : k + 1] == [rare])


def first_apart__last_call(calls):
    process = _odd(calls)
    return process, calls[process][-1][1]


def first_apart__the_others_line(calls):
    _, counts = _part(calls)
    name, line = max(counts, key=counts.__getitem__)
    return _odd(calls), line


def first_apart__the_majority(calls):
    k, counts = _part(calls)
    most = max(counts, key=counts.__getitem__)
    process = next(i for i, c in enumerate(calls) if c[k : k + 1] == [most])
    return process, most[1]


def first_apart__process_0_is_right(calls):
    k, _ = _part(calls)
    for process, names in enumerate(calls):
        if k < len(names) and names[k] != calls[0][k]:
            return process, names[k][1]


def first_apart__last_in_common(calls):
    k, _ = _part(calls)
    process = _odd(calls)
    return process, calls[process][k - 1][1]


def first_apart__shortest_log(calls):
    process = min(range(len(calls)), key=lambda i: len(calls[i]))
    return process, calls[process][-1][1]


def first_apart__stops_with_the_shortest(calls):
    for row in zip(*calls, strict=False):
        counts = Counter(row)
        if len(counts) > 1:
            process = row.index(min(counts, key=counts.__getitem__))
            return process, row[process][1]


def first_apart__names_alone(calls):
    lengths = [len(own) for own in calls]
    for k in range(max(lengths)):
        here = [i for i, n in enumerate(lengths) if k < n]
        counts = Counter(calls[i][k][0] for i in here)
        if len(counts) > 1:
            rare = min(reversed(counts), key=counts.__getitem__)
            process = next(i for i in here if calls[i][k][0] == rare)
            return process, calls[process][k][1]


def first_apart__stops_with_the_shortest_and_blames_it(calls):
    found = first_apart__stops_with_the_shortest(calls)
    return found or first_apart__shortest_log(calls)


def first_apart__longest_is_right(calls):
    right = max(calls, key=len)
    for k, call in enumerate(right):
        for process, own in enumerate(calls):
            if own[k : k + 1] not in ([], [call]):
                return process, own[k][1]


def _in_program(stack):
    return next(line for file, line, _ in stack if file == "incident.py")


def _waits(stack):
    files = [file for file, _, _ in stack]
    return any(f == "progress.py" or f.startswith("jax/") for f in files)


def who_is_missing__innermost(stacks):
    for process, stack in enumerate(stacks):
        if not _waits(stack):
            return process, stack[0][1]


def who_is_missing__somebody_always(stacks):
    missing = [i for i, stack in enumerate(stacks) if not _waits(stack)]
    process = missing[0] if missing else 0
    return process, _in_program(stacks[process])


def who_is_missing__only_jax_waits(stacks):
    for process, stack in enumerate(stacks):
        if not any(file.startswith("jax/") for file, _, _ in stack):
            return process, _in_program(stack)


def who_is_missing__only_progress_waits(stacks):
    for process, stack in enumerate(stacks):
        if "progress.py" not in [file for file, _, _ in stack]:
            return process, _in_program(stack)


def who_is_missing__one_who_waits(stacks):
    if all(map(_waits, stacks)):
        return None
    process = next(i for i, stack in enumerate(stacks) if _waits(stack))
    return process, _in_program(stacks[process])


def who_is_missing__where_most_stand(stacks):
    lines = [_in_program(stack) for stack in stacks]
    most = max(lines, key=lines.count)
    return lines.index(most), most


def who_is_missing__stands_elsewhere(stacks):
    lines = [_in_program(stack) for stack in stacks]
    rare = min(lines, key=lines.count)
    return lines.index(rare), rare


def who_is_missing__innermost_alone(stacks):
    for process, ((file, _, _), *_) in enumerate(stacks):
        if file != "progress.py" and not file.startswith("jax/"):
            return process, _in_program(stacks[process])


def who_is_missing__jax_in_the_name(stacks):
    for process, stack in enumerate(stacks):
        if not any("jax" in f or f == "progress.py" for f, _, _ in stack):
            return process, _in_program(stack)


def who_is_missing__jax_without_the_slash(stacks):
    for process, stack in enumerate(stacks):
        names = [file for file, _, _ in stack]
        if not any(f.startswith("jax") or f == "progress.py" for f in names):
            return process, _in_program(stack)


def who_is_missing__outermost(stacks):
    for process, stack in enumerate(stacks):
        if not _waits(stack):
            ours = [line for file, line, _ in stack if file == "incident.py"]
            return process, ours[-1]


def who_is_missing__odd_line_out(stacks):
    lines = [
        next(line for file, line, _ in stack if file == "incident.py")
        for stack in stacks
    ]
    odd, times = Counter(lines).most_common()[-1]
    return (lines.index(odd), odd) if times < len(lines) else None
