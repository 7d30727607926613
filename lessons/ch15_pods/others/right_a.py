"""The exercises of ch15_pods solved in another way."""

from bisect import bisect_left
from fractions import Fraction


def make_it_fit(plan, rows):
    fitting = bisect_left(rows, True, key=lambda n: not plan(n)["fits"])
    return rows[fitting - 1] if fitting > 0 else None


def choose_plan(plans, deadline):
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


def costliest_axis(collectives, lines, speed):
    def seconds(axis):
        n, links = 1, 0
        for chips, ring in lines[axis]:
            n, links = n * chips, links + 1 + ring
        carried = 0
        for c in collectives:
            if c["axis"] == axis:
                carried += (
                    (1 + (c["op"] == "all-reduce")) * c["times"] * c["bytes"]
                )
        return carried / n * (n - 1) / links / speed

    axis = max({c["axis"] for c in collectives}, key=seconds)
    return axis, seconds(axis)


def rows_to_hide(rows, compute, network, step):
    gained = Fraction(compute) - Fraction(network["model"])
    if gained <= 0:
        return None
    steps = -(-Fraction(network["data"]) * rows // (gained * step))
    return int(steps) * step
