from collections import defaultdict


# what: this answer believes that the best change is the one that saves most seconds over the three times together
def best_change(times: dict[str, float], changes: dict[str, dict[str, float]]) -> tuple[str, str | None]:
    bound = max(times, key=times.get)
    best, least = None, sum(times.values())
    for name, factors in changes.items():
        total = sum(s * factors.get(kind, 1.0) for kind, s in times.items())
        if total < least:
            best, least = name, total
    return bound, best


# what: this answer believes that all the time a device spends in a collective, from its start to its end, is waiting
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
    for met in zip(*(lists[device] for device in devices)):
        last = max(range(len(met)), key=lambda i: met[i][0])
        for i, (start, end) in enumerate(met):
            if i != last:
                waited[devices[last]] += end - start
    device = max(waited, key=waited.get)
    return device, waited[device]


# what: this answer believes that products which overlap each hide communication of their own, and subtracts each one's overlap
def exposed(products: list[tuple[float, float]], collectives: list[tuple[float, float]]) -> float:
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
