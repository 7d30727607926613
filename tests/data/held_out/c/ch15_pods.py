from collections.abc import Callable
from fractions import Fraction
from math import ceil, prod


# what: takes for granted that the smallest batch fits, and never compiles it
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
    return rows[low]


# what: looks for the cheapest first and asks for the deadline only then
def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    def seconds(plan):
        return max(plan["seconds"].values())

    fitting = [plan for plan in plans if plan["fits"] and plan["memory"]["peak"] <= 0.9 * plan["memory"]["limit"]]
    if not fitting:
        return None
    best = min(fitting, key=lambda p: prod(p["mesh"].values()) * seconds(p))
    if seconds(best) > deadline:
        return None
    return best["on"], best["mesh"]


# what: finds the axis of the one collective that takes longest, not of all along an axis together
def costliest_axis(collectives: list[dict], lines: dict[str, list], speed: float) -> tuple[str, float]:
    def seconds(collective):
        axis = lines[collective["axis"]]
        n = prod(chips for chips, _ in axis)
        links = sum(2 if ring else 1 for _, ring in axis)
        once = collective["bytes"] * (n - 1) / n / (speed * links)
        if collective["op"] == "all-reduce":
            once *= 2
        return once * collective["times"]

    worst = max(collectives, key=seconds)
    return worst["axis"], seconds(worst)


# what: believes that all of the network time stays as it is when the batch grows
def rows_to_hide(rows: int, compute: float, network: dict[str, float], step: int) -> int | None:
    if compute <= 0:
        return None
    total = Fraction(network["data"]) + Fraction(network["model"])
    return ceil(total * rows / Fraction(compute) / step) * step
