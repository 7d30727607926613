from collections import defaultdict


# what: this answer believes that a factor says how many times faster something becomes, and divides by it
def best_change(times: dict[str, float], changes: dict[str, dict[str, float]]) -> tuple[str, str | None]:
    bound = max(times, key=times.get)
    best, shortest = None, times[bound]
    for name, factors in changes.items():
        step = max(s / factors.get(kind, 1.0) for kind, s in times.items())
        if step < shortest:
            best, shortest = name, step
    return bound, best


# what: this answer believes that the events of a device are listed in the order of time, so the n-th in the list is the n-th that ran
def waited_for(
    events: list[tuple[int, str, float, float]],
) -> tuple[int, float]:
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


# what: this answer believes that communication is under way from the first collective's start to the last one's done, gaps included
def exposed(products: list[tuple[float, float]], collectives: list[tuple[float, float]]) -> float:
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
