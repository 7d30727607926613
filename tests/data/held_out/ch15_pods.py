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


# what: Takes the activations' time as fixed + never goes below the batch.
def rows_to_hide(rows: int, compute: float, network: dict[str, float], step: int) -> int | None:
    if compute <= 0:
        return None
    times = max(1, sum(network.values()) / compute)
    return math.ceil(times * rows / step) * step
