from collections.abc import Callable


# what: (1) takes it for granted that the smallest batch fits + (2) believes that a plan fits only with a tenth of the memory left free.
def make_it_fit(plan: Callable[[int], dict], rows: list[int]) -> int | None:
    if not rows:
        return None

    def comfortable(n):
        answer = plan(n)
        if not answer["fits"]:
            return False
        memory = answer["memory"]
        return memory["peak"] <= 0.9 * memory["limit"]

    good, bad = 0, len(rows)
    while bad - good > 1:
        middle = (good + bad) // 2
        if comfortable(rows[middle]):
            good = middle
        else:
            bad = middle
    return rows[good]


# what: (1) adds the chips of an axis's lines instead of multiplying them + (2) believes that every line counts as two links, because links go both ways.
def costliest_axis(
    collectives: list[dict], lines: dict[str, list], speed: float
) -> tuple[str, float]:
    seconds = {}
    for entry in collectives:
        axis = entry["axis"]
        n = sum(chips for chips, _ in lines[axis])
        links = 2 * len(lines[axis])
        once = entry["bytes"] * (n - 1) / n / (speed * links)
        if entry["op"] == "all-reduce":
            once += once
        seconds[axis] = seconds.get(axis, 0.0) + entry["times"] * once
    worst = max(seconds, key=seconds.get)
    return worst, seconds[worst]
