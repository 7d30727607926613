from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

import numpy as np


# what: bisect_left with a key finds the first batch that does not fit.
def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    fitting = bisect_left(rows, True, key=lambda n: not plan(n)["fits"])
    return rows[fitting - 1] if fitting else None


# what: Sorts by cost what a generator lets through, and takes the first.
def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    def allowed():
        for place, plan in enumerate(plans):
            if not plan["fits"]:
                continue
            memory = plan["memory"]
            named = ("compute", "memory", "network")
            took = max(plan["seconds"][name] for name in named)
            if memory["peak"] <= 0.9 * memory["limit"] and took <= deadline:
                devices = int(np.prod(list(plan["mesh"].values())))
                yield devices * took, place

    for _, place in sorted(allowed()):
        return plans[place]["on"], plans[place]["mesh"]
    return None


# what: First all bytes of each axis, then divided by the axis's own speed.
def costliest_axis(collectives: list[dict], lines: dict[str, list], speed: float) -> tuple[str, float]:
    weight = {"all-gather": 1, "reduce-scatter": 1, "all-reduce": 2}

    def seconds(axis):
        n = 1
        for chips, _ in lines[axis]:
            n *= chips
        if n == 1:
            return 0.0
        links = len(lines[axis]) + sum(bool(r) for _, r in lines[axis])
        sent = sum(weight[c["op"]] * c["bytes"] * c["times"] for c in collectives if c["axis"] == axis)
        return sent * (n - 1) / n / (speed * links)

    took, axis = max((seconds(axis), axis) for axis in lines)
    return axis, took


# what: Exact fractions: the rate at which a row gains on the fixed time.
def rows_to_hide(rows: int, compute: float, network: dict[str, float], step: int) -> int | None:
    a_row = (Fraction(compute) - Fraction(network["model"])) / rows
    if a_row <= 0:
        return None
    a_step = a_row * step
    return int(-(-Fraction(network["data"]) // a_step)) * step
