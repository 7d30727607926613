import math
from collections.abc import Callable


# what: (1) a step fits only if the arguments have room beside the peak + (2) halving from the largest batch on, the first that fits is the largest that fits.
def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    left = len(rows)
    while left > 0:
        n = rows[left - 1]
        result = plan(n)
        memory = result["memory"]
        if (
            result["fits"]
            and memory["arguments"] + memory["peak"] <= memory["limit"]
        ):
            return n
        left //= 2
    return None


# what: (1) an all-reduce takes as long as an all-gather of the same array + (2) an open line has two links as well, since one can send both ways.
def costliest_axis(
    collectives: list[dict], lines: dict[str, list], speed: float
) -> tuple[str, float]:
    spent: dict[str, float] = {}
    for entry in collectives:
        axis = entry["axis"]
        n = math.prod(chips for chips, _ in lines[axis])
        links = 2 * len(lines[axis])
        seconds = entry["bytes"] * (n - 1) / n / (links * speed)
        spent[axis] = spent.get(axis, 0.0) + entry["times"] * seconds
    worst = max(spent, key=lambda axis: spent[axis])
    return worst, spent[worst]
