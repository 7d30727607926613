"""Other answers to the exercises of ch15_pods: right ones, known mistakes, and other wrong ones."""

import math
from bisect import bisect_left
from fractions import Fraction


def make_it_fit__right(plan, rows):
    fitting = bisect_left(rows, True, key=lambda n: not plan(n)["fits"])
    return rows[fitting - 1] if fitting > 0 else None


def make_it_fit__always_the_last(plan, rows):
    return rows[-1]


def _line(plan, rows, second):
    first = plan(rows[0])
    if not first["fits"] or len(rows) == 1:
        return rows[0] if first["fits"] else None
    a, b = rows[0], rows[second]
    memory = plan(b)["memory"]
    if memory["peak"] is None:
        return a
    grown = (memory["peak"] - first["memory"]["peak"]) / (b - a)
    left = memory["limit"] - first["memory"]["peak"]
    return max(n for n in rows if grown * (n - a) <= left)


def make_it_fit__a_straight_line(plan, rows):
    return _line(plan, rows, 1)


def make_it_fit__a_line_to_the_middle(plan, rows):
    return _line(plan, rows, len(rows) // 2)


def make_it_fit__the_memory(plan, rows):
    return plan(rows[0])["memory"]["peak"]


def make_it_fit__as_text(plan, rows):
    return f"{rows[len(rows) // 2]} rows"


def choose_plan__right(plans, deadline):
    def cost(p):
        cost = max(p["seconds"][w] for w in ("compute", "memory", "network"))
        for axis in p["mesh"]:
            cost *= p["mesh"][axis]
        return cost

    def possible(p):
        return (
            p["fits"]
            and p["memory"]["peak"] / p["memory"]["limit"] <= 0.9
            and all(t <= deadline for t in p["seconds"].values())
        )

    best = min(filter(possible, plans), key=cost, default=None)
    return best and (best["on"], best["mesh"])


def _cheapest(plans, deadline):
    costs = []
    for p in plans:
        if p["fits"] and p["memory"]["peak"] <= 0.9 * p["memory"]["limit"]:
            step = max(p["seconds"].values())
            if step <= deadline:
                cost = step * math.prod(p["mesh"].values())
                costs.append((cost, p["on"], p["mesh"]))
    return min(costs, default=None)


def choose_plan__mesh_first(plans, deadline):
    best = _cheapest(plans, deadline)
    return best and (best[2], best[1])


def choose_plan__does_not_look(plans, deadline):
    best = min(plans, key=lambda p: max(p["seconds"].values()))
    return best["on"], best["mesh"]


def choose_plan__two_names_looked_up(plans, deadline):
    def cost(plan):
        step = max(plan["seconds"].values())
        return plan["mesh"]["data"] * plan["mesh"]["model"] * step

    here = [p for p in plans if p["fits"]]
    here = [p for p in here if p["memory"]["peak"] <= 0.9 * p["memory"]["limit"]]
    here = [p for p in here if max(p["seconds"].values()) <= deadline]
    best = min(here, key=cost, default=None)
    return best and (best["on"], best["mesh"])


def costliest_axis__right(collectives, lines, speed):
    def seconds(axis):
        n, links = 1, 0
        for chips, ring in lines[axis]:
            n, links = n * chips, links + 1 + ring
        carried = 0
        for c in collectives:
            if c["axis"] == axis:
                carried += (1 + (c["op"] == "all-reduce")) * c["times"] * c["bytes"]
        return carried / n * (n - 1) / links / speed

    axis = max({c["axis"] for c in collectives}, key=seconds)
    return axis, seconds(axis)


def _seconds(collectives, lines, speed):
    total = {}
    for c in collectives:
        n = math.prod(n for n, _ in lines[c["axis"]])
        links = sum(1 + ring for _, ring in lines[c["axis"]])
        passes = 2 if c["op"] == "all-reduce" else 1
        t = passes * c["times"] * c["bytes"] * (n - 1) / n / links / speed
        total[c["axis"]] = total.get(c["axis"], 0.0) + t
    return total


def costliest_axis__milliseconds(collectives, lines, speed):
    axis, t = max(_seconds(collectives, lines, speed).items(), key=lambda i: i[1])
    return axis, 1000 * t


def costliest_axis__only_the_name(collectives, lines, speed):
    total = _seconds(collectives, lines, speed)
    return max(total, key=total.get)


def rows_to_hide__right(rows, compute, network, step):
    gained = Fraction(compute) - Fraction(network["model"])
    if gained <= 0:
        return None
    steps = -(-Fraction(network["data"]) * rows // (gained * step))
    return int(steps) * step


def rows_to_hide__infinite(rows, compute, network, step):
    if compute <= network["model"]:
        return math.inf
    more = rows * network["data"] / (compute - network["model"])
    return math.ceil(more / step) * step
