# what: (1) Thinks a step takes the sum of the three times + (2) thinks the best of the changes is to be named even where none makes the step shorter.
def best_change(
    times: dict[str, float], changes: dict[str, dict[str, float]]
) -> tuple[str, str | None]:
    def step(factors):
        return sum(t * factors.get(kind, 1.0) for kind, t in times.items())

    bound = sorted(times, key=lambda kind: times[kind])[-1]
    if not changes:
        return bound, None
    ranked = sorted(changes, key=lambda name: step(changes[name]))
    return bound, ranked[0]


# what: (1) Thinks collectives that are under way at once are each exposed for themselves, so that the same moment counts several times + (2) thinks products that run at once each hide a piece of their own.
def exposed(
    products: list[tuple[float, float]], collectives: list[tuple[float, float]]
) -> float:
    total = 0.0
    for begin, done in collectives:
        hidden = 0.0
        for start, end in products:
            hidden += max(0.0, min(done, end) - max(begin, start))
        total += max(0.0, (done - begin) - hidden)
    return total
