import bisect
import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction


# what: bisect from the standard library, with the compilation as its key
def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    fitting = bisect.bisect_left(rows, True, key=lambda n: not plan(n)["fits"])
    return rows[fitting - 1] if fitting else None


# what: a generator of priced plans, handed to min with a default
def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    def priced():
        for plan in plans:
            if not plan["fits"]:
                continue
            roomy = plan["memory"]["peak"] * 10 <= plan["memory"]["limit"] * 9
            step = max(plan["seconds"][k] for k in ("compute", "memory", "network"))
            if roomy and step <= deadline:
                yield math.prod(plan["mesh"].values()) * step, plan

    _, best = min(priced(), key=lambda pair: pair[0], default=(None, None))
    return best and (best["on"], best["mesh"])


# what: bytes that pass are added up for each axis first, the bandwidth is divided out once
def costliest_axis(collectives: list[dict], lines: dict[str, list], speed: float) -> tuple[str, float]:
    passed = defaultdict(int, dict.fromkeys(lines, 0))
    for c in collectives:
        passed[c["axis"]] += (1 + (c["op"] == "all-reduce")) * c["bytes"] * c["times"]

    def seconds(axis):
        n = math.prod(chips for chips, _ in lines[axis])
        links = sum(1 + bool(ring) for _, ring in lines[axis])
        return passed[axis] * (n - 1) / n / (speed * links)

    return max(((axis, seconds(axis)) for axis in passed), key=lambda pair: pair[1])


# what: exact fractions of the times for one row
def rows_to_hide(rows: int, compute: float, network: dict[str, float], step: int) -> int | None:
    exact = lambda number: Fraction(str(number))
    gain = (exact(compute) - exact(network["model"])) / rows
    if gain <= 0:
        return None
    return math.ceil(exact(network["data"]) / (gain * step)) * step
