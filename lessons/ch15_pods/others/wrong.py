"""Mistakes of ch15_pods once more, spelled differently, where that may tell: the name must be the same."""

from itertools import takewhile


def make_it_fit__one_by_one(plan, rows):
    fitting = [*takewhile(lambda n: plan(n)["fits"], rows)]
    return fitting[-1] if fitting else None


def make_it_fit__from_the_largest(plan, rows):
    for k in range(len(rows) - 1, -1, -1):
        if plan(rows[k])["fits"]:
            return rows[k]
    return None


def _ok(p, deadline, most=0.9):
    within = p["fits"] and p["memory"]["peak"] <= most * p["memory"]["limit"]
    return within and max(p["seconds"].values()) <= deadline


def _best(plans, key):
    best = min(plans, key=key, default=None)
    return None if best is None else (best["on"], best["mesh"])


def _step(p):
    return max(p["seconds"].values())


def choose_plan__two_sizes_unpacked(plans, deadline):
    def cost(p):
        data, model = tuple(p["mesh"].values())
        return data * model * _step(p)

    return _best([p for p in plans if _ok(p, deadline)], cost)


def _up(rows, step):
    return int(-(-rows // step)) * step


def rows_to_hide__below_zero(rows, compute, network, step):
    return _up(rows * network["data"] / (compute - network["model"]), step)
