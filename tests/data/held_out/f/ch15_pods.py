import math
from collections import defaultdict
from collections.abc import Callable


# what: Thinks the plan with the shortest step is the cheapest in chip-seconds, too.
def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    chosen, shortest = None, None
    for plan in plans:
        if not plan["fits"]:
            continue
        memory = plan["memory"]
        if memory["peak"] > 0.9 * memory["limit"]:
            continue
        seconds = max(plan["seconds"].values())
        if seconds > deadline:
            continue
        if shortest is None or seconds < shortest:
            chosen, shortest = plan, seconds
    if chosen is None:
        return None
    return chosen["on"], chosen["mesh"]


# what: Thinks the lines of an axis are used one after another, so that an axis has only the links of its best line.
def costliest_axis(
    collectives: list[dict], lines: dict[str, list], speed: float
) -> tuple[str, float]:
    passes = {"all-gather": 1, "reduce-scatter": 1, "all-reduce": 2}
    totals = defaultdict(float)
    for each in collectives:
        axis = each["axis"]
        chips = math.prod(count for count, _ in lines[axis])
        links = max(2 if ring else 1 for _, ring in lines[axis])
        moved = passes[each["op"]] * each["bytes"] * (chips - 1) / chips
        totals[axis] += each["times"] * moved / (speed * links)
    axis = max(totals, key=totals.__getitem__)
    return axis, totals[axis]


# what: Thinks only the arithmetic grows with the batch, and that the time along "model" stays as it is, like that along "data".
def rows_to_hide(
    rows: int, compute: float, network: dict[str, float], step: int
) -> int | None:
    if compute <= 0:
        return None
    fixed = network["data"] + network["model"]
    a_row = compute / rows
    return step * math.ceil(fixed / a_row / step)
