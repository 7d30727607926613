# style: a table of steps, min over it, then a comparison
def best_change(times: dict[str, float], changes: dict[str, dict[str, float]]) -> tuple[str, str | None]:
    steps = {name: max(times[kind] * by.get(kind, 1) for kind in times) for name, by in changes.items()}
    now = max(times.values())
    bound = next(kind for kind in times if times[kind] == now)
    name = min(steps, key=steps.__getitem__, default=None)
    if name is not None and steps[name] >= now:
        name = None
    return bound, name


# style: one sorted list of starts for each device, then zip
def waited_for(
    events: list[tuple[int, str, float, float]],
) -> tuple[int, float]:
    devices = sorted({event[0] for event in events})
    starts = [
        sorted(start for owner, name, start, _ in events if owner == device and name in {"all-reduce", "all-gather"})
        for device in devices
    ]
    totals = [0.0] * len(devices)
    for met in zip(*starts):
        last = max(met)
        totals[met.index(last)] += len(met) * last - sum(met)
    longest = max(totals)
    return devices[totals.index(longest)], longest


# style: a sweep over +1/-1 events with two counters
def exposed(products: list[tuple[float, float]], collectives: list[tuple[float, float]]) -> float:
    changes = []
    for start, end in products:
        changes += [(start, 1, 0), (end, -1, 0)]
    for start, end in collectives:
        changes += [(start, 0, 1), (end, 0, -1)]
    changes.sort()
    running = flying = 0
    before = total = 0.0
    for moment, product, collective in changes:
        if flying > 0 and running == 0:
            total += moment - before
        running += product
        flying += collective
        before = moment
    return total
