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
