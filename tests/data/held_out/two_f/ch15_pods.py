import math
from collections.abc import Callable


# what: (1) Thinks the arguments come on top of the peak + (2) thinks the smallest batch always fits, so that it is never compiled and never None.
def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    if not rows:
        return None
    fits, too_many = 0, len(rows)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        result = plan(rows[middle])
        memory = result["memory"]
        if (
            result["fits"]
            and memory["peak"] + memory["arguments"] <= memory["limit"]
        ):
            fits = middle
        else:
            too_many = middle
    return rows[fits]


# what: (1) Thinks the one collective that takes longest names the axis, instead of the sum of all along an axis + (2) thinks a closed line counts as one link, because data go round it one way.
def costliest_axis(
    collectives: list[dict], lines: dict[str, list], speed: float
) -> tuple[str, float]:
    def seconds(entry):
        torus = lines[entry["axis"]]
        n = math.prod(chips for chips, _ in torus)
        once = entry["bytes"] * (n - 1) / n / (speed * len(torus))
        rounds = 2 if entry["op"] == "all-reduce" else 1
        return rounds * once * entry["times"]

    worst = max(collectives, key=seconds)
    return worst["axis"], seconds(worst)
