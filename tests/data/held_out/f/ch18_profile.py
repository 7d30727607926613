from collections import defaultdict


# what: Thinks only the time that bounds the step now matters, and forgets that after a change another of the three may be the longest.
def best_change(
    times: dict[str, float], changes: dict[str, dict[str, float]]
) -> tuple[str, str | None]:
    bound = max(times, key=times.get)
    best, factor_of_best = None, 1.0
    for name, factors in changes.items():
        factor = factors.get(bound, 1.0)
        if factor < factor_of_best:
            best, factor_of_best = name, factor
    return bound, best


# what: Thinks all the time that the others spend in a collective is waiting, the transfer itself included (from own start to own end).
def waited_for(
    events: list[tuple[int, str, float, float]],
) -> tuple[int, float]:
    per_device = defaultdict(list)
    for device, name, start, end in events:
        if name in ("all-reduce", "all-gather"):
            per_device[device].append((start, end))
    for spans in per_device.values():
        spans.sort()

    devices = list(per_device)
    blamed = defaultdict(float)
    for meeting in zip(*(per_device[d] for d in devices)):
        spans = dict(zip(devices, meeting))
        late = max(spans, key=lambda d: spans[d][0])
        blamed[late] += sum(
            end - start for d, (start, end) in spans.items() if d != late
        )
    worst = max(blamed, key=blamed.get)
    return worst, blamed[worst]


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
