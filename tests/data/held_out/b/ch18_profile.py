from collections import defaultdict


# what: this answer believes that two collectives under way at once are exposed twice, each for itself
def exposed(products: list[tuple[float, float]], collectives: list[tuple[float, float]]) -> float:
    merged = []
    for start, end in sorted(products):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    total = 0.0
    for start, end in collectives:
        total += end - start
        for s, e in merged:
            total -= max(0.0, min(end, e) - max(start, s))
    return total
