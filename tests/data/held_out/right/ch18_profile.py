from collections import defaultdict


# style: loops and a running best
def best_change(times: dict[str, float], changes: dict[str, dict[str, float]]) -> tuple[str, str | None]:
    bound = max(times, key=times.get)
    best, shortest = None, times[bound]
    for name, factors in changes.items():
        step = max(s * factors.get(kind, 1.0) for kind, s in times.items())
        if step < shortest:
            best, shortest = name, step
    return bound, best


# style: starts grouped by (name, number) after one sort
def waited_for(
    events: list[tuple[int, str, float, float]],
) -> tuple[int, float]:
    meetings = defaultdict(list)
    seen = defaultdict(int)
    for device, name, start, _ in sorted(events, key=lambda e: e[2]):
        if name not in ("all-reduce", "all-gather"):
            continue
        number = seen[device, name]
        seen[device, name] += 1
        meetings[name, number].append((start, device))
    waited = defaultdict(float)
    for starts in meetings.values():
        last, device = max(starts)
        waited[device] += sum(last - start for start, _ in starts)
    device = max(waited, key=waited.get)
    return device, waited[device]


# style: elementary intervals between neighbouring moments
def exposed(products: list[tuple[float, float]], collectives: list[tuple[float, float]]) -> float:
    moments = sorted({t for pair in products + collectives for t in pair})
    total = 0.0
    for a, b in zip(moments, moments[1:]):
        under_way = any(s <= a and b <= e for s, e in collectives)
        computing = any(s <= a and b <= e for s, e in products)
        if under_way and not computing:
            total += b - a
    return total
