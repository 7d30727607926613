import math
from collections.abc import Callable
from fractions import Fraction


# what: Believes that doubling until it no longer fits finds the largest batch, and does not search between the last two tries.
def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    best = None
    place = 1
    while place <= len(rows):
        candidate = rows[place - 1]
        if not plan(candidate)["fits"]:
            break
        best = candidate
        place *= 2
    return best


# what: Believes that only arithmetic and memory overlap, and that the network time always comes on top.
def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    def step_time(plan):
        s = plan["seconds"]
        return max(s["compute"], s["memory"]) + s["network"]

    def allowed(plan):
        if not plan["fits"]:
            return False
        memory = plan["memory"]
        if memory["peak"] > 0.9 * memory["limit"]:
            return False
        return step_time(plan) <= deadline

    able = list(filter(allowed, plans))
    if not able:
        return None
    cheapest = min(able, key=lambda p: math.prod(p["mesh"].values()) * step_time(p))
    return cheapest["on"], cheapest["mesh"]


# what: Believes that the axis that carries the most bytes is the one that takes the longest, whatever its links.
def costliest_axis(
    collectives: list[dict], lines: dict[str, list], speed: float
) -> tuple[str, float]:
    carried = dict.fromkeys(lines, 0.0)
    for c in collectives:
        n = math.prod(chips for chips, _ in lines[c["axis"]])
        rounds = 2 if c["op"] == "all-reduce" else 1
        carried[c["axis"]] += rounds * c["times"] * c["bytes"] * (n - 1) / n
    busiest = max(carried, key=carried.get)
    links = sum(2 if ring else 1 for _, ring in lines[busiest])
    return busiest, carried[busiest] / (speed * links)


# what: Believes that the transfers along "data" and "model" go on at the same time, so that only the longer one has to be hidden.
def rows_to_hide(
    rows: int, compute: float, network: dict[str, float], step: int
) -> int | None:
    a_row = Fraction(compute) / rows
    model_row = Fraction(network["model"]) / rows
    if a_row == 0 or model_row > a_row:
        return None
    needed = Fraction(network["data"]) / a_row
    return max(1, math.ceil(needed / step)) * step
