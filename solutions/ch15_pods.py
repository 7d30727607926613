"""Solutions of ch15_pods."""

import math
from collections import defaultdict
from collections.abc import Callable


def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    low, high = 0, len(rows)  # rows[:low] fit, rows[high:] do not
    while low < high:
        middle = (low + high) // 2
        if plan(rows[middle])["fits"]:
            low = middle + 1
        else:
            high = middle
    return rows[low - 1] if low else None


def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    costs = []
    for plan in plans:
        memory = plan["memory"]
        if not plan["fits"] or memory["peak"] > 0.9 * memory["limit"]:
            continue
        longest = max(plan["seconds"].values())
        if longest <= deadline:
            cost = math.prod(plan["mesh"].values()) * longest
            costs.append((cost, plan["on"], plan["mesh"]))
    return min(costs)[1:] if costs else None


def costliest_axis(
    collectives: list[dict], lines: dict[str, list], speed: float
) -> tuple[str, float]:
    seconds = defaultdict(float)
    for c in collectives:
        line = lines[c["axis"]]
        n = math.prod(chips for chips, _ in line)
        links = sum(2 if ring else 1 for _, ring in line)
        passes = 2 if c["op"] == "all-reduce" else 1
        sent = passes * c["bytes"] * (n - 1) / n
        seconds[c["axis"]] += c["times"] * sent / (links * speed)
    return max(seconds.items(), key=lambda item: item[1])


def rows_to_hide(
    rows: int, compute: float, network: dict[str, float], step: int
) -> int | None:
    gained = (compute - network["model"]) / rows  # by each row more
    if gained <= 0:
        return None
    return math.ceil(network["data"] / gained / step) * step
