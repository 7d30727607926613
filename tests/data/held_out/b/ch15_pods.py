import math
from collections.abc import Callable


# what: Takes the smallest batch for one that fits, and never tries it.
def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    low, high = 0, len(rows)
    while high - low > 1:
        middle = (low + high) // 2
        if plan(rows[middle])["fits"]:
            low = middle
        else:
            high = middle
    return rows[low]


# what: Compares the peak before it asks whether there is one.
def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    allowed = {}
    for plan in plans:
        memory, took = plan["memory"], plan["seconds"]
        if memory["peak"] > 0.9 * memory["limit"] or not plan["fits"]:
            continue
        seconds = max(took["compute"], took["memory"], took["network"])
        if seconds <= deadline:
            cost = seconds * math.prod(plan["mesh"].values())
            allowed[cost] = plan["on"], plan["mesh"]
    return allowed[min(allowed)] if allowed else None


# what: Looks for the longest collective, not for the longest sum of an axis.
def costliest_axis(collectives: list[dict], lines: dict[str, list], speed: float) -> tuple[str, float]:
    def took(c):
        on = lines[c["axis"]]
        n = math.prod(chips for chips, _ in on)
        links = sum(1 + ring for _, ring in on)
        passes = 1 + (c["op"] == "all-reduce")
        each = passes * c["bytes"] * (n - 1) / n / (speed * links)
        return each * c["times"]

    worst = max(collectives, key=took)
    return worst["axis"], took(worst)
