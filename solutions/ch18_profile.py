"""ch18_profile, solved."""

from collections import defaultdict


def best_change(
    times: dict[str, float], changes: dict[str, dict[str, float]]
) -> tuple[str, str | None]:
    best, shortest = None, max(times.values())
    for name, factors in changes.items():
        step = max(t * factors.get(which, 1.0) for which, t in times.items())
        if step < shortest:
            best, shortest = name, step
    return max(times, key=lambda which: times[which]), best


def waited_for(
    events: list[tuple[int, str, float, float]],
) -> tuple[int, float]:
    starts = defaultdict(list)
    for device, name, start, _ in sorted(events, key=lambda e: e[2]):
        if name in ("all-reduce", "all-gather"):
            starts[device].append(start)
    waited = defaultdict(float)
    for turn in zip(*starts.values(), strict=True):
        came = dict(zip(starts, turn, strict=True))
        last = max(came, key=lambda device: came[device])
        waited[last] += sum(came[last] - start for start in turn)
    return max(waited.items(), key=lambda item: item[1])


def exposed(
    products: list[tuple[float, float]], collectives: list[tuple[float, float]]
) -> float:
    moments = sorted({t for span in products + collectives for t in span})
    total = 0.0
    for start, end in zip(moments, moments[1:], strict=False):

        def covered(spans, start=start, end=end):
            return any(a <= start and end <= b for a, b in spans)

        if covered(collectives) and not covered(products):
            total += end - start
    return total
