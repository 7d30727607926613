import math
from collections.abc import Callable


# what: Compiles both ends first, and has then too few compilations left.
def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    if not rows or not plan(rows[0])["fits"]:
        return None
    if plan(rows[-1])["fits"]:
        return rows[-1]
    low, high = 0, len(rows) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if plan(rows[middle])["fits"]:
            low = middle
        else:
            high = middle
    return rows[low]


# what: Gives an axis the links of its best line, not those of all together.
def costliest_axis(collectives: list[dict], lines: dict[str, list], speed: float) -> tuple[str, float]:
    took = dict.fromkeys(lines, 0.0)
    for c in collectives:
        on = lines[c["axis"]]
        n = math.prod(chips for chips, _ in on)
        links = max(2 if ring else 1 for _, ring in on)
        passes = 2 if c["op"] == "all-reduce" else 1
        sent = passes * c["bytes"] * c["times"] * (n - 1) / n
        took[c["axis"]] += sent / (speed * links)
    axis = max(took, key=took.get)
    return axis, took[axis]


# what: Lets the two axes send at once, though one comes after the other.
def rows_to_hide(rows: int, compute: float, network: dict[str, float], step: int) -> int | None:
    if compute < network["model"]:
        return None
    needed = rows * network["data"] / compute
    return math.ceil(needed / step) * step
