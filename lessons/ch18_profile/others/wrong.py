"""The known mistakes once more, spelled differently."""

from collections import defaultdict


def waited_for__to_the_end(events):
    kinds = ("all-reduce", "all-gather")
    lists = defaultdict(list)
    for device, name, start, end in sorted(events, key=lambda e: e[2]):
        if name in kinds:
            lists[device].append((start, end))
    devices = sorted(lists)
    waited = defaultdict(float)
    for met in zip(*(lists[device] for device in devices), strict=True):
        last = max(range(len(met)), key=lambda i: met[i][0])
        for i, (start, end) in enumerate(met):
            if i != last:
                waited[devices[last]] += end - start
    device = max(waited, key=waited.get)
    return device, waited[device]


def exposed__hidden_twice(products, collectives):
    merged = []
    for start, end in sorted(collectives):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    total = 0.0
    for start, end in merged:
        hidden = sum(max(0.0, min(end, e) - max(start, s)) for s, e in products)
        total += max(0.0, end - start - hidden)
    return total


def best_change__one_after_another(times, changes):
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


def waited_for__last_most_often(events):
    kinds = ("all-reduce", "all-gather")
    lists = defaultdict(list)
    for device, name, start, end in sorted(events, key=lambda e: e[2]):
        if name in kinds:
            lists[device].append((start, end))
    devices = sorted(lists)
    waited = defaultdict(float)
    times_last = defaultdict(int)
    for met in zip(*(lists[device] for device in devices), strict=True):
        starts = [start for start, _ in met]
        last = max(starts)
        slow = devices[starts.index(last)]
        times_last[slow] += 1
        waited[slow] += sum(last - start for start in starts)
    device = max(times_last, key=times_last.get)
    return device, waited[device]


def best_change__divided(times, changes):
    bound = max(times, key=times.get)
    best, shortest = None, times[bound]
    for name, factors in changes.items():
        step = max(s / factors.get(kind, 1.0) for kind, s in times.items())
        if step < shortest:
            best, shortest = name, step
    return bound, best


def exposed__pauses_too(products, collectives):
    if not collectives:
        return 0.0
    first = min(start for start, _ in collectives)
    done = max(end for _, end in collectives)
    covered = 0.0
    reached = first
    for start, end in sorted(products):
        start, end = max(start, reached), min(end, done)
        if end > start:
            covered += end - start
            reached = end
    return done - first - covered


def exposed__whole_milliseconds(products, collectives):
    def ticks(pairs):
        return {t for start, end in pairs for t in range(int(start), int(end))}

    return float(len(ticks(collectives) - ticks(products)))


def waited_for__one_wait_of_each(events):
    kinds = ("all-reduce", "all-gather")
    lists = defaultdict(list)
    for device, name, start, end in sorted(events, key=lambda e: e[2]):
        if name in kinds:
            lists[device].append((start, end))
    devices = sorted(lists)
    waited = defaultdict(float)
    for met in zip(*(lists[device] for device in devices), strict=True):
        starts = [start for start, _ in met]
        last = max(starts)
        waited[devices[starts.index(last)]] += last - min(starts)
    device = max(waited, key=waited.get)
    return device, waited[device]


def waited_for__in_the_lists_order_by_name(events):
    meetings = defaultdict(list)
    seen = defaultdict(int)
    for device, name, start, _ in events:
        if name in ("all-reduce", "all-gather"):
            meetings[name, seen[device, name]].append((start, device))
            seen[device, name] += 1
    waited = defaultdict(float)
    for starts in meetings.values():
        last, device = max(starts)
        waited[device] += sum(last - start for start, _ in starts)
    device = max(waited, key=waited.get)
    return device, waited[device]
