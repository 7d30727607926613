# what: (1) believes that the change is best which shortens the bounding time most, whatever becomes of the other times + (2) believes that the bound to be named is the one after the change.
def best_change(
    times: dict[str, float], changes: dict[str, dict[str, float]]
) -> tuple[str, str | None]:
    longest = max(times, key=lambda part: times[part])
    useful = {
        name: factors[longest]
        for name, factors in changes.items()
        if factors.get(longest, 1.0) < 1.0
    }
    if not useful:
        return longest, None
    chosen = min(useful, key=lambda name: useful[name])
    after = dict(times)
    for part, factor in changes[chosen].items():
        after[part] = after[part] * factor
    return max(after, key=lambda part: after[part]), chosen


def _overlap(a, b):
    return max(0.0, min(a[1], b[1]) - max(a[0], b[0]))


# what: (1) believes that the exposed times of the single collectives can be added up, even where two are under way at once + (2) believes that a collective is hidden by the sum of its overlaps with all products, even where two products run at once.
def exposed(
    products: list[tuple[float, float]], collectives: list[tuple[float, float]]
) -> float:
    total = 0.0
    for span in collectives:
        hidden = sum(_overlap(span, product) for product in products)
        total += max(0.0, span[1] - span[0] - hidden)
    return total
