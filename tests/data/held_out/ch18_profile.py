from collections import defaultdict


# what: this answer believes that only the time that bounds the step now needs to be compared, and that the bound to report is the one after the change
def best_change(times: dict[str, float], changes: dict[str, dict[str, float]]) -> tuple[str, str | None]:
    bound = max(times, key=times.get)
    best, shortest = None, times[bound]
    for name, factors in changes.items():
        step = times[bound] * factors.get(bound, 1.0)
        if step < shortest:
            best, shortest = name, step
    factors = changes[best] if best is not None else {}
    after = {kind: s * factors.get(kind, 1.0) for kind, s in times.items()}
    return max(after, key=after.get), best


# what: this answer believes that nobody waits in an all-gather, where nothing is added up, and that a device waits until its own end
def waited_for(
    events: list[tuple[int, str, float, float]],
) -> tuple[int, float]:
    lists = defaultdict(list)
    for device, name, start, end in sorted(events, key=lambda e: e[2]):
        if name == "all-reduce":
            lists[device].append((start, end))
    devices = sorted(lists)
    waited = dict.fromkeys([event[0] for event in events], 0.0)
    for met in zip(*(lists[device] for device in devices)):
        last = max(range(len(met)), key=lambda i: met[i][0])
        for i, (start, end) in enumerate(met):
            if i != last:
                waited[devices[last]] += end - start
    device = max(waited, key=waited.get)
    return device, waited[device]


# what: Thinks computing hides as much communication as it lasts, whenever it runs, so that the difference of the two totals is exposed.
def exposed(
    products: list[tuple[float, float]], collectives: list[tuple[float, float]]
) -> float:
    def covered(spans):
        total, reached = 0.0, float("-inf")
        for start, end in sorted(spans):
            begin = max(start, reached)
            if end > begin:
                total += end - begin
                reached = end
        return total

    return max(0.0, covered(collectives) - covered(products))
