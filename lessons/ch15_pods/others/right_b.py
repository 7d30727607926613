"""The exercises of ch15_pods solved in a third way."""

import numpy as np


def make_it_fit(plan, rows):
    if not rows:
        return None
    middle = len(rows) // 2
    if not plan(rows[middle])["fits"]:
        return make_it_fit(plan, rows[:middle])
    better = make_it_fit(plan, rows[middle + 1 :])
    return rows[middle] if better is None else better


def choose_plan(plans, deadline):
    best = None
    for p in plans:
        if not p["fits"]:
            continue
        step = np.max(list(p["seconds"].values()))
        if (
            step > deadline
            or 10 * p["memory"]["peak"] > 9 * p["memory"]["limit"]
        ):
            continue
        cost = step * np.prod(list(p["mesh"].values()))
        if best is None or cost < best[0]:
            best = cost, p
    return None if best is None else (best[1]["on"], dict(best[1]["mesh"]))


def costliest_axis(collectives, lines, speed):
    total = dict.fromkeys(lines, 0.0)
    for c in collectives:
        sizes, rings = zip(*lines[c["axis"]], strict=True)
        into = speed * (len(rings) + sum(rings))
        once = c["bytes"] * (1 - 1 / np.prod(sizes)) / into
        total[c["axis"]] += once * c["times"]
        if c["op"] == "all-reduce":  # and back again
            total[c["axis"]] += once * c["times"]
    return sorted(((t, a) for a, t in total.items()), reverse=True)[0][::-1]


def rows_to_hide(rows, compute, network, step):
    if network["model"] >= compute:
        return None

    def hidden(k):
        n = k * step / rows
        return n * compute >= network["data"] + n * network["model"]

    low, high = 0, 1
    while not hidden(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if hidden(middle) else (middle, high)
    return high * step
