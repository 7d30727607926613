"""Mistakes of ch15_pods once more, spelled differently, where that may tell: the name must be the same."""

import math
from itertools import takewhile


def make_it_fit__one_by_one(plan, rows):
    fitting = [*takewhile(lambda n: plan(n)["fits"], rows)]
    return fitting[-1] if fitting else None


def make_it_fit__from_the_largest(plan, rows):
    for k in range(len(rows) - 1, -1, -1):
        if plan(rows[k])["fits"]:
            return rows[k]
    return None


def make_it_fit__arguments_beside_the_peak(plan, rows):
    def has_room(n):
        answer = plan(n)
        if not answer["fits"]:
            return False
        memory = answer["memory"]
        return memory["arguments"] + memory["peak"] <= memory["limit"]

    best = None
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if has_room(rows[middle]):
            best = rows[middle]
            low = middle + 1
        else:
            high = middle
    return best


def _ok(p, deadline, most=0.9):
    within = p["fits"] and p["memory"]["peak"] <= most * p["memory"]["limit"]
    return within and max(p["seconds"].values()) <= deadline


def _best(plans, key):
    best = min(plans, key=key, default=None)
    return None if best is None else (best["on"], best["mesh"])


def _step(p):
    return max(p["seconds"].values())


def choose_plan__two_sizes_unpacked(plans, deadline):
    def cost(p):
        data, model = tuple(p["mesh"].values())
        return data * model * _step(p)

    return _best([p for p in plans if _ok(p, deadline)], cost)


def choose_plan__deadline_last(
    plans: list[dict], deadline: float
) -> tuple[str, dict] | None:
    def took(plan):
        return max(plan["seconds"].values())

    def cost(plan):
        return math.prod(plan["mesh"].values()) * took(plan)

    def roomy(plan):
        memory = plan["memory"]
        return plan["fits"] and memory["peak"] <= 0.9 * memory["limit"]

    best = min(filter(roomy, plans), key=cost, default=None)
    if best is None or took(best) > deadline:
        return None
    return best["on"], best["mesh"]


def _up(rows, step):
    return int(-(-rows // step)) * step


def rows_to_hide__below_zero(rows, compute, network, step):
    return _up(rows * network["data"] / (compute - network["model"]), step)


def rows_to_hide__whole_batches(
    rows: int, compute: float, network: dict[str, float], step: int
) -> int | None:
    left = compute - network["model"]
    if left <= 0:
        return None
    times = math.ceil(network["data"] / left)
    return -(-times * rows // step) * step
