# what: (1) the three times add up, so the best change is the one with the smallest sum + (2) the bound asked for is that of the step after the change.
def best_change(
    times: dict[str, float], changes: dict[str, dict[str, float]]
) -> tuple[str, str | None]:
    best, best_times = None, dict(times)
    for name, factors in changes.items():
        after = {part: t * factors.get(part, 1) for part, t in times.items()}
        if sum(after.values()) < sum(best_times.values()):
            best, best_times = name, after
    return max(best_times, key=best_times.get), best


# what: (1) collectives that are under way at once are each counted in full + (2) products that run at once each hide a collective once more.
def exposed(
    products: list[tuple[float, float]], collectives: list[tuple[float, float]]
) -> float:
    total = 0.0
    for begin, done in collectives:
        hidden = 0.0
        for start, end in products:
            hidden += max(0.0, min(end, done) - max(start, begin))
        total += max(0.0, done - begin - hidden)
    return total
