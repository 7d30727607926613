import math
from collections.abc import Callable


# what: the peak counts only what the step allocates, so the arguments must find room beside it.
def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    def good(n):
        result = plan(n)
        if not result["fits"]:
            return False
        memory = result["memory"]
        return memory["arguments"] + memory["peak"] <= memory["limit"]

    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if good(rows[middle]):
            low = middle + 1
        else:
            high = middle
    return rows[low - 1] if low else None


# what: arithmetic and memory traffic overlap, but the network can't, so its time comes on top.
def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    best = None
    for plan in plans:
        if not plan["fits"]:
            continue
        memory = plan["memory"]
        if memory["peak"] > 0.9 * memory["limit"]:
            continue
        seconds = plan["seconds"]
        step = max(seconds["compute"], seconds["memory"]) + seconds["network"]
        if step > deadline:
            continue
        cost = math.prod(plan["mesh"].values()) * step
        if best is None or cost < best[0]:
            best = cost, plan
    if best is None:
        return None
    return best[1]["on"], best[1]["mesh"]


# what: an axis laid over several lines is one long ring through all its chips, so it has the links of one ring (2, or 1 if a line is open).
def costliest_axis(
    collectives: list[dict], lines: dict[str, list], speed: float
) -> tuple[str, float]:
    seconds = {axis: 0.0 for axis in lines}
    for c in collectives:
        parts = lines[c["axis"]]
        n = math.prod(chips for chips, _ in parts)
        links = 2 if all(ring for _, ring in parts) else 1
        once = c["bytes"] * (n - 1) / n / (speed * links)
        if c["op"] == "all-reduce":
            once *= 2
        seconds[c["axis"]] += c["times"] * once
    axis = max(seconds, key=seconds.get)
    return axis, seconds[axis]


# what: to hide the network the batch can only be made larger, so the search begins at the batch that the times are for.
def rows_to_hide(
    rows: int, compute: float, network: dict[str, float], step: int
) -> int | None:
    per_row = (compute - network["model"]) / rows
    if per_row <= 0:
        return None
    needed = network["data"] / per_row
    return step * max(math.ceil(needed / step), math.ceil(rows / step))
