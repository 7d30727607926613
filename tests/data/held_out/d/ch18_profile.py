from collections import defaultdict


# what: this answer believes that what bounds the step now will bound it after each change too, and compares only that time
def best_change(times: dict[str, float], changes: dict[str, dict[str, float]]) -> tuple[str, str | None]:
    bound = max(times, key=times.get)
    best, shortest = None, times[bound]
    for name, factors in changes.items():
        step = times[bound] * factors.get(bound, 1.0)
        if step < shortest:
            best, shortest = name, step
    return bound, best
