# what: the best change is the one that shortens the present bottleneck most; what it does to the other two times, and that they may become the bottleneck, does not matter.
def best_change(
    times: dict[str, float], changes: dict[str, dict[str, float]]
) -> tuple[str, str | None]:
    bound = max(times, key=times.get)
    best, shortest = None, times[bound]
    for name, factors in changes.items():
        after = times[bound] * factors.get(bound, 1.0)
        if after < shortest:
            best, shortest = name, after
    return bound, best


# what: all the time that a device spends inside a collective is waiting for the last device.
def waited_for(
    events: list[tuple[int, str, float, float]],
) -> tuple[int, float]:
    runs: dict[int, list[tuple[float, float]]] = {}
    for device, name, start, end in events:
        if name in ("all-reduce", "all-gather"):
            runs.setdefault(device, []).append((start, end))
    for mine in runs.values():
        mine.sort()
    blame = {device: 0.0 for device in runs}
    count = len(next(iter(runs.values())))
    for i in range(count):
        last = max(runs, key=lambda device: runs[device][i][0])
        for device, mine in runs.items():
            if device != last:
                start, end = mine[i]
                blame[last] += end - start
    worst = max(blame, key=blame.get)
    return worst, blame[worst]


# what: whatever of the whole time isn't filled by products is communication that is exposed.
def exposed(
    products: list[tuple[float, float]], collectives: list[tuple[float, float]]
) -> float:
    if not collectives:
        return 0.0
    everything = products + collectives
    begin = min(start for start, _ in everything)
    finish = max(end for _, end in everything)
    busy, reached = 0.0, begin
    for start, end in sorted(products):
        start = max(start, reached)
        if end > start:
            busy += end - start
            reached = end
    return finish - begin - busy
