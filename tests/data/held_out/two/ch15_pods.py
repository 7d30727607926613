import math
from collections.abc import Callable


# what: Tries one batch after another from the top + 0 where none fits.
def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    for n in reversed(rows):
        if plan(n)["fits"]:
            return n
    return 0


# what: Adds the three times up + leaves no tenth of the memory free.
def choose_plan(plans: list[dict], deadline: float) -> tuple[str, dict] | None:
    best, least = None, math.inf
    for plan in plans:
        if not plan["fits"]:
            continue
        seconds = sum(plan["seconds"].values())
        cost = seconds * math.prod(plan["mesh"].values())
        if seconds <= deadline and cost < least:
            best, least = (plan["on"], plan["mesh"]), cost
    return best


# what: Counts each collective once, whatever its times + adds lines' chips.
def costliest_axis(collectives: list[dict], lines: dict[str, list], speed: float) -> tuple[str, float]:
    took = dict.fromkeys(lines, 0.0)
    for c in collectives:
        on = lines[c["axis"]]
        n = sum(chips for chips, _ in on)
        links = sum(2 if ring else 1 for _, ring in on)
        passes = 2 if c["op"] == "all-reduce" else 1
        took[c["axis"]] += passes * c["bytes"] * (n - 1) / n / (speed * links)
    return max(took.items(), key=lambda item: item[1])


# what: Takes the activations' time as fixed + never goes below the batch.
def rows_to_hide(rows: int, compute: float, network: dict[str, float], step: int) -> int | None:
    if compute <= 0:
        return None
    times = max(1, sum(network.values()) / compute)
    return math.ceil(times * rows / step) * step
