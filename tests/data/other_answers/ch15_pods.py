"""Other answers to the exercises of ch15_pods: right ones, known mistakes, and other wrong ones."""


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


def choose_plan__two_names_looked_up(plans, deadline):
    def cost(plan):
        step = max(plan["seconds"].values())
        return plan["mesh"]["data"] * plan["mesh"]["model"] * step

    here = [p for p in plans if p["fits"]]
    here = [p for p in here if p["memory"]["peak"] <= 0.9 * p["memory"]["limit"]]
    here = [p for p in here if max(p["seconds"].values()) <= deadline]
    best = min(here, key=cost, default=None)
    return best and (best["on"], best["mesh"])
