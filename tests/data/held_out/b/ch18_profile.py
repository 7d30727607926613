from collections import defaultdict


# what: this answer believes that the changes are made one after the other, each measured on top of those before it
def best_change(times: dict[str, float], changes: dict[str, dict[str, float]]) -> tuple[str, str | None]:
    now = dict(times)
    bound = max(now, key=now.get)
    shortest = now[bound]
    best = None
    for name, factors in changes.items():
        for kind, factor in factors.items():
            now[kind] *= factor
        step = max(now.values())
        if step < shortest:
            best, shortest = name, step
    return bound, best


# what: this answer believes that the device which is the last most often is the one waited for longest
def waited_for(
    events: list[tuple[int, str, float, float]],
) -> tuple[int, float]:
    kinds = ("all-reduce", "all-gather")
    lists = defaultdict(list)
    for device, name, start, end in sorted(events, key=lambda e: e[2]):
        if name in kinds:
            lists[device].append((start, end))
    devices = sorted(lists)
    waited = defaultdict(float)
    times_last = defaultdict(int)
    for met in zip(*(lists[device] for device in devices)):
        starts = [start for start, _ in met]
        last = max(starts)
        slow = devices[starts.index(last)]
        times_last[slow] += 1
        waited[slow] += sum(last - start for start in starts)
    device = max(times_last, key=times_last.get)
    return device, waited[device]


# what: this answer believes that two collectives under way at once are exposed twice, each for itself
def exposed(products: list[tuple[float, float]], collectives: list[tuple[float, float]]) -> float:
    merged = []
    for start, end in sorted(products):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    total = 0.0
    for start, end in collectives:
        total += end - start
        for s, e in merged:
            total -= max(0.0, min(end, e) - max(start, s))
    return total
