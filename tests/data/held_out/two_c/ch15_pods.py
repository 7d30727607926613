from collections.abc import Callable  # noqa: F401
from math import prod


# what: adds the three times up instead of taking the longest + lets the peak fill the whole limit, not 90 % of it
def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    best = None
    for plan in plans:
        if not plan["fits"] or plan["memory"]["peak"] > plan["memory"]["limit"]:
            continue
        seconds = sum(plan["seconds"].values())
        if seconds > deadline:
            continue
        cost = prod(plan["mesh"].values()) * seconds
        if best is None or cost < best[0]:
            best = cost, plan["on"], plan["mesh"]
    return best and best[1:]


# what: takes the longer of the two network times, as if they ran together + rounds to the nearest multiple of step, perhaps down
def rows_to_hide(rows: int, compute: float, network: dict[str, float], step: int) -> int | None:
    if compute < network["model"]:
        return None
    needed = network["data"] * rows / compute
    return max(1, round(needed / step)) * step
