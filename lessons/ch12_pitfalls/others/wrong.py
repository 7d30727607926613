"""Mistakes of ch12_pitfalls once more, spelled differently, where that may tell: the name must be the same."""

from collections import Counter
from itertools import zip_longest

import numpy as np
from jax.experimental.multihost_utils import (
    broadcast_one_to_all,
    process_allgather,
)


def sum_by_name__own_order(mine):
    sums = {}
    for name, part in mine.items():
        sums[name] = (
            process_allgather(part, tiled=True)
            .reshape(-1, part.size)
            .sum(axis=0)
        )
    return sums


def sum_by_name__own_only(mine):
    return {name: part + part for name, part in mine.items()}


def sum_by_name__sorted_by_size(mine):
    sums = {}
    for name, part in sorted(
        mine.items(), key=lambda item: np.abs(item[1]).sum()
    ):
        sums[name] = process_allgather(part).sum(axis=0)
    return sums


def sum_by_name__sorted_by_hash(mine):
    sums = {}
    for _, name in sorted((hash(name), name) for name in mine):
        sums[name] = sum(np.asarray(process_allgather(mine[name])))
    return sums


def sum_by_name__names_sorted_alone(mine):
    everyone = [process_allgather(mine[name]) for name in mine]
    named = zip(sorted(mine), everyone, strict=True)
    return {name: parts.sum(axis=0) for name, parts in named}


def padded_sum__to_the_shortest(mine):
    width = process_allgather(np.array(mine.shape)).min(axis=0)[1]
    return process_allgather(mine[:, :width]).sum(axis=(0, 1))


def padded_sum__to_process_0(mine):
    width = int(broadcast_one_to_all(np.int32(mine.shape[1])))
    whole = np.zeros((mine.shape[0], max(width, mine.shape[1])), mine.dtype)
    whole[:, : mine.shape[1]] = mine
    return process_allgather(whole[:, :width]).sum(axis=(0, 1))


def padded_sum__own_only(mine):
    whole = np.zeros(
        process_allgather(np.int32(mine.shape[1])).max(), mine.dtype
    )
    whole[: mine.shape[1]] = mine.sum(axis=0)
    return whole


def padded_sum__in_front(mine):
    whole = np.zeros(
        process_allgather(np.int32(mine.shape[1])).max(), mine.dtype
    )
    whole[whole.size - mine.shape[1] :] = mine.sum(axis=0)
    return (
        process_allgather(whole, tiled=True).reshape(-1, whole.size).sum(axis=0)
    )


def padded_sum__to_a_fixed_width(mine):
    whole = np.zeros((mine.shape[0], 128), mine.dtype)
    whole[:, : mine.shape[1]] = mine
    return process_allgather(whole).sum(axis=(0, 1))


def padded_sum__filled_by_repeating(mine):
    longest = process_allgather(np.int32(mine.shape[1])).max()
    return process_allgather(np.resize(mine.sum(axis=0), longest)).sum(axis=0)


def mean_of_batches__mean_of_means(batches):
    own = float(np.concatenate(batches).mean()) if len(batches) else 0.0
    return float(np.mean(process_allgather(np.array([own], np.float32))))


def mean_of_batches__mean_of_means_nan(batches):
    means = [np.mean(batch) for batch in batches]
    own = np.float32(np.nan if len(means) == 0 else np.mean(means))
    return float(process_allgather(own).mean())


def mean_of_batches__rest_dropped(batches):
    counts = process_allgather(
        np.array([len(batches), max([b.size for b in batches], default=0)])
    )
    steps, size = counts[:, 0].min(), counts[:, 1].max()
    kept = np.zeros((steps, size), np.float32)
    for k in range(steps):
        kept[k] = batches[k]
    everyone = process_allgather(kept.sum(keepdims=True))
    return float(everyone.sum() / max(1, steps * size * everyone.shape[0]))


def mean_of_batches__padding_counted(batches):
    counts = process_allgather(
        np.array([len(batches), max([b.size for b in batches], default=0)])
    )
    kept = np.zeros(counts.max(axis=0), np.float32)
    for k, batch in enumerate(batches):
        kept[k] = batch
    return float(process_allgather(kept).mean())


def mean_of_batches__padding_needs_one(batches):
    steps = int(process_allgather(np.int32(len(batches))).max())
    (size,) = batches[0].shape
    kept = np.zeros((steps, size), np.float32)
    kept[: len(batches)] = batches
    return float(process_allgather(kept).mean())


def mean_of_batches__own_only(batches):
    numbers = np.concatenate([np.zeros(0, np.float32), *batches])
    return float(numbers.sum() / max(1, numbers.size))


def mean_of_batches__one_never_comes(batches):
    if len(batches) == 0:
        return 0.0
    total = process_allgather(np.float32(np.sum(batches))).sum()
    count = process_allgather(np.float32(np.size(batches))).sum()
    return float(total / count)


def mean_of_batches__batches_counted(batches):
    total = sum(float(batch.sum()) for batch in batches)
    every = process_allgather(np.float32([[total, len(batches)]]), tiled=True)
    return float(every[:, 0].sum() / every[:, 1].sum())


def steps_until_good__own_decision(losses, goal):
    step = 0
    while step < len(losses):
        process_allgather(losses[step])
        step += 1
        if losses[step - 1] < goal:
            return step
    return step


def steps_until_good__as_soon_as_one(losses, goal):
    for step, loss in enumerate(losses, 1):
        if process_allgather(loss).min() < goal:
            return step
    return len(losses)


def steps_until_good__once_all_are(losses, goal):
    for step, loss in enumerate(losses, 1):
        if process_allgather(loss).max() < goal:
            return step
    return len(losses)


def steps_until_good__process_0_decides(losses, goal):
    for step, loss in enumerate(losses, 1):
        if process_allgather(loss)[0] < goal:
            return step
    return len(losses)


def steps_until_good__from_zero(losses, goal):
    for step, loss in enumerate(losses):
        if process_allgather(loss).mean() < goal:
            return step
    return len(losses)


def steps_until_good__own_count(losses, goal):
    process_allgather(losses)
    good = losses < goal
    return int(good.argmax()) + 1 if good.any() else len(losses)


def steps_until_good__breaks_then_gathers(losses, goal):
    step = 0
    for loss in losses:
        step += 1
        process_allgather(np.float32(loss))
        if loss < goal:
            break
    return int(np.max(process_allgather(np.int32(step))))


def steps_until_good__or_equal(losses, goal):
    for step, loss in enumerate(losses, 1):
        if not process_allgather(loss).mean() > goal:
            return step
    return len(losses)


def steps_until_good__each_ones_own_step(losses, goal):
    own = next((n for n, x in enumerate(losses, 1) if x < goal), len(losses))
    return max(process_allgather(np.array([own])).ravel().tolist())


def steps_until_good__mean_over_steps(losses, goal):
    for n, own in enumerate(process_allgather(losses), 1):
        if sum(own) / len(own) < goal:
            return n
    return len(losses)


def steps_until_good__mean_so_far(losses, goal):
    for n in range(1, len(losses) + 1):
        if process_allgather(losses[:n]).mean() < goal:
            return n
    return len(losses)


def steps_until_good__never_is_the_first(losses, goal):
    good = list(np.asarray(process_allgather(losses)).mean(axis=0) < goal)
    return good.index(max(good)) + 1


def who_is_missing__odd_line_out(
    stacks: list[list[tuple[str, int, str]]],
) -> tuple[int, int] | None:
    lines = [
        next(line for file, line, _ in stack if file == "incident.py")
        for stack in stacks
    ]
    odd, times = Counter(lines).most_common()[-1]
    return (lines.index(odd), odd) if times < len(lines) else None


def first_apart__names_alone(calls):
    for column in zip_longest(*calls):
        names = Counter(call[0] for call in column if call)
        if len(names) > 1:
            odd = names.most_common()[-1][0]
            for process, call in enumerate(column):
                if call and call[0] == odd:
                    return process, call[1]


def first_apart__stops_with_the_shortest_and_blames_it(calls):
    for row in zip(*calls, strict=False):
        for process, call in enumerate(row):
            if row.count(call) == 1:
                return process, call[1]
    shortest = min(range(len(calls)), key=lambda process: len(calls[process]))
    return shortest, calls[shortest][-1][1] if calls[shortest] else 0


def first_apart__longest_is_right(calls):
    right = max(calls, key=len)
    for position, expected in enumerate(right):
        for process, own in enumerate(calls):
            if position < len(own) and tuple(own[position]) != tuple(expected):
                return process, own[position][1]
    return 0, right[-1][1]
