# what: believes that the best change is the one that shortens the time that bounds the step most, whatever it makes of the other two.
def best_change(
    times: dict[str, float], changes: dict[str, dict[str, float]]
) -> tuple[str, str | None]:
    bound = max(times, key=times.get)
    best, factor = None, 1.0
    for name, factors in changes.items():
        here = factors.get(bound, 1.0)
        if here < factor:
            best, factor = name, here
    if best is None:
        return bound, None
    after = {part: t * changes[best].get(part, 1.0) for part, t in times.items()}
    if max(after.values()) >= times[bound]:
        return bound, None
    return bound, best


# what: believes that one can add up each device's start times over all collectives and compare the sums, so that being early once makes up for being late another time.
def waited_for(
    events: list[tuple[int, str, float, float]],
) -> tuple[int, float]:
    late: dict[int, float] = {}
    for device, name, start, _ in events:
        late.setdefault(device, 0.0)
        if name in ("all-reduce", "all-gather"):
            late[device] += start
    last = max(late, key=lambda device: late[device])
    waited = sum(late[last] - late[device] for device in late)
    return last, waited


def _merged(spans):
    out = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


# what: believes that the exposed times of the single collectives can be added up, so that a moment in which two are under way counts twice.
def exposed(
    products: list[tuple[float, float]], collectives: list[tuple[float, float]]
) -> float:
    busy = _merged(products)
    total = 0.0
    for start, end in collectives:
        hidden = 0.0
        for b, e in busy:
            hidden += max(0.0, min(end, e) - max(start, b))
        total += (end - start) - hidden
    return total
