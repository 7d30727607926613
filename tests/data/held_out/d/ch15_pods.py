import math
from collections.abc import Callable
from fractions import Fraction


# what: narrows down to one candidate and then compiles once more to see whether that one fits
def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    if not rows:
        return None
    low, high = 0, len(rows) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if plan(rows[middle])["fits"]:
            low = middle
        else:
            high = middle - 1
    return rows[low] if plan(rows[low])["fits"] else None


# what: takes the cheapest that fits first, and only then looks at the deadline
def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    best, least = None, math.inf
    for plan in plans:
        memory = plan["memory"]
        if not plan["fits"] or 10 * memory["peak"] > 9 * memory["limit"]:
            continue
        cost = math.prod(plan["mesh"].values()) * max(plan["seconds"].values())
        if cost < least:
            best, least = plan, cost
    if best is None or max(best["seconds"].values()) > deadline:
        return None
    return best["on"], best["mesh"]


# what: an axis has two links if its lines are closed and one if not, however many lines it takes
def costliest_axis(collectives: list[dict], lines: dict[str, list], speed: float) -> tuple[str, float]:
    seconds = {axis: 0.0 for axis in lines}
    for collective in collectives:
        axis = collective["axis"]
        n = math.prod(chips for chips, _ in lines[axis])
        links = 2 if all(ring for _, ring in lines[axis]) else 1
        once = collective["bytes"] * (n - 1) / n / (speed * links)
        if collective["op"] == "all-reduce":
            once *= 2
        seconds[axis] += collective["times"] * once
    worst = max(seconds, key=seconds.get)
    return worst, seconds[worst]


# what: the two axes talk at the same time, so the arithmetic has to cover only the longer of them
def rows_to_hide(rows: int, compute: float, network: dict[str, float], step: int) -> int | None:
    compute = Fraction(str(compute))
    data = Fraction(str(network["data"]))
    model = Fraction(str(network["model"]))
    if compute <= 0 or compute < model:
        return None
    return step * math.ceil(data / compute * rows / step)
