import math
from collections.abc import Callable


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
