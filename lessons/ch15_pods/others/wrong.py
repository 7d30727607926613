"""Every known mistake of ch15_pods once more, spelled differently."""

import math
from itertools import takewhile
from math import ceil, prod

import numpy as np


def make_it_fit__one_by_one(plan, rows):
    fitting = [*takewhile(lambda n: plan(n)["fits"], rows)]
    return fitting[-1] if fitting else None


def _count(plan, rows):
    if not rows:
        return 0
    half = len(rows) // 2
    if plan(rows[half])["fits"]:
        return half + 1 + _count(plan, rows[half + 1 :])
    return _count(plan, rows[:half])


def make_it_fit__first_too_large(plan, rows):
    return [*rows, None][_count(plan, rows)]


def make_it_fit__last_for_none(plan, rows):
    return rows[_count(plan, rows) - 1]


def make_it_fit__smallest_for_none(plan, rows):
    return [rows[0], *rows][_count(plan, rows)]


def make_it_fit__first_that_fits(plan, rows):
    while rows:
        rows = rows[: len(rows) // 2 + 1]
        if plan(rows[-1])["fits"]:
            return rows[-1]
        rows = rows[:-1]
    return None


def make_it_fit__arguments_only(plan, rows):
    memory = plan(rows[0])["memory"]
    held = memory["arguments"]
    return rows[-1] if held is not None and held <= memory["limit"] else None


def make_it_fit__all_of_it_grows(plan, rows):
    memory = plan(rows[0])["memory"]
    if not memory["peak"]:
        return None
    each = memory["peak"] / rows[0]
    return [n for n in rows if n * each <= memory["limit"]][-1]


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


def _chips(p):
    return prod(p["mesh"].values())


def _step(p):
    return max(p["seconds"].values())


def choose_plan__fastest(plans, deadline):
    return _best([p for p in plans if _ok(p, deadline)], _step)


def choose_plan__fewest_chips(plans, deadline):
    kept = sorted((p for p in plans if _ok(p, deadline)), key=_step)
    return _best(kept, _chips)


def choose_plan__sum_of_three(plans, deadline):
    kept = [p for p in plans if _ok(p, deadline)]
    return _best(kept, lambda p: _chips(p) * np.sum([*p["seconds"].values()]))


def choose_plan__arithmetic_only(plans, deadline):
    kept = [p for p in plans if _ok(p, deadline)]
    return _best(kept, lambda p: p["seconds"]["compute"] * _chips(p))


def choose_plan__filled_to_the_brim(plans, deadline):
    kept = [p for p in plans if _ok(p, deadline, 1.0)]
    return _best(kept, lambda p: _step(p) * _chips(p))


def choose_plan__too_late(plans, deadline):
    kept = [p for p in plans if _ok(p, float("inf"))]
    return _best(kept, lambda p: _step(p) * _chips(p))


def choose_plan__none_counts_as_nothing(plans, deadline):
    zeroed = []
    for p in plans:
        seconds = {k: t or 0 for k, t in p["seconds"].items()}
        memory = {k: n or 0 for k, n in p["memory"].items()}
        zeroed.append(p | {"seconds": seconds, "memory": memory, "fits": True})
    kept = [p for p in zeroed if _ok(p, deadline)]
    return _best(kept, lambda p: _step(p) * _chips(p))


def choose_plan__two_axes(plans, deadline):
    def cost(p):
        first, second, *_ = *p["mesh"].values(), 1
        return first * second * _step(p)

    return _best([p for p in plans if _ok(p, deadline)], cost)


def choose_plan__two_sizes_unpacked(plans, deadline):
    def cost(p):
        data, model = tuple(p["mesh"].values())
        return data * model * _step(p)

    return _best([p for p in plans if _ok(p, deadline)], cost)


def choose_plan__all_three_in_turn(plans, deadline):
    found, least = None, math.inf
    for p in plans:
        if not p["fits"] or p["memory"]["peak"] > 0.9 * p["memory"]["limit"]:
            continue
        step = p["seconds"]["compute"] + p["seconds"]["memory"]
        step += p["seconds"]["network"]
        if step <= deadline and math.prod(p["mesh"].values()) * step < least:
            least = math.prod(p["mesh"].values()) * step
            found = p["on"], p["mesh"]
    return found


def choose_plan__sizes_added(plans, deadline):
    def allowed(p):
        room = p["fits"] and p["memory"]["peak"] <= 0.9 * p["memory"]["limit"]
        return room and max(p["seconds"].values()) <= deadline

    def cost(p):
        return sum(p["mesh"].values()) * max(p["seconds"].values())

    cheapest = min(filter(allowed, plans), key=cost, default=None)
    return (cheapest["on"], cheapest["mesh"]) if cheapest else None


def choose_plan__axes_counted(plans, deadline):
    def allowed(p):
        room = p["fits"] and p["memory"]["peak"] <= 0.9 * p["memory"]["limit"]
        return room and max(p["seconds"].values()) <= deadline

    def cost(p):
        return len([*p["mesh"]]) * max(p["seconds"].values())

    cheapest = min(filter(allowed, plans), key=cost, default=None)
    return (cheapest["on"], cheapest["mesh"]) if cheapest else None


def _into(line):
    return len(line) + sum(ring for _, ring in line)


def _sums(collectives, lines, speed, weigh, into=_into):
    found = {}
    for c in collectives:
        n = prod(n for n, _ in lines[c["axis"]])
        t = weigh(c) * c["bytes"] * (1 - 1 / n) / into(lines[c["axis"]]) / speed
        found.setdefault(c["axis"], []).append(t)
    return found


def _most(found):
    axis = max(found, key=found.get)
    return axis, found[axis]


def _passes(c):
    return c["times"] * (2 if c["op"] == "all-reduce" else 1)


def _added(found):
    return _most({axis: sum(each) for axis, each in found.items()})


def costliest_axis__each_once(collectives, lines, speed):
    return _added(
        _sums(collectives, lines, speed, lambda c: _passes(c) / c["times"])
    )


def costliest_axis__one_link(collectives, lines, speed):
    return _added(_sums(collectives, lines, speed, _passes, lambda _: 1))


def costliest_axis__all_rings(collectives, lines, speed):
    return _added(
        _sums(collectives, lines, speed, _passes, lambda line: len(line) * 2)
    )


def costliest_axis__one_line(collectives, lines, speed):
    return _added(
        _sums(collectives, lines, speed, _passes, lambda line: 1 + line[0][1])
    )


def costliest_axis__all_reduce_once(collectives, lines, speed):
    return _added(_sums(collectives, lines, speed, lambda c: c["times"]))


def costliest_axis__longest_of_them(collectives, lines, speed):
    found = _sums(collectives, lines, speed, _passes)
    return _most({axis: max(each) for axis, each in found.items()})


def costliest_axis__most_bytes(collectives, lines, speed):
    sent = _sums(collectives, lines, 1, _passes, lambda _: 1)
    axis, total = _added(sent)
    return axis, total / _into(lines[axis]) / speed


def costliest_axis__chips_added(collectives, lines, speed):
    took = dict.fromkeys(lines, 0.0)
    for c in collectives:
        n = links = 0
        for chips, ring in lines[c["axis"]]:
            n, links = n + chips, links + 1 + ring
        part = c["bytes"] - c["bytes"] / n
        part *= 1 + (c["op"] == "all-reduce")
        took[c["axis"]] += c["times"] * part / links / speed
    most = max(took, key=took.__getitem__)
    return most, took[most]


def costliest_axis__own_part_sent(collectives, lines, speed):
    took = dict.fromkeys(lines, 0.0)
    for c in collectives:
        links = sum(1 + ring for _, ring in lines[c["axis"]])
        sent = c["bytes"] * c["times"] * (1 + (c["op"] == "all-reduce"))
        took[c["axis"]] += sent / (links * speed)
    most = max(took, key=took.__getitem__)
    return most, took[most]


def costliest_axis__all_axes_together(collectives, lines, speed):
    found = _sums(collectives, lines, speed, _passes)
    return _added(found)[0], sum(map(sum, found.values()))


def _up(rows, step):
    return int(-(-rows // step)) * step


def rows_to_hide__nothing_grows(rows, compute, network, step):
    return _up(rows * sum(network.values()) / compute, step)


def rows_to_hide__weights_only(rows, compute, network, step):
    return _up(network["data"] / (compute / rows), step)


def rows_to_hide__below_zero(rows, compute, network, step):
    return _up(rows * network["data"] / (compute - network["model"]), step)


def rows_to_hide__rounded_down(rows, compute, network, step):
    if compute <= network["model"]:
        return None
    n = rows * network["data"] / (compute - network["model"])
    return int(n // step) * step


def rows_to_hide__one_step_more(rows, compute, network, step):
    if compute <= network["model"]:
        return None
    n = network["data"] / ((compute - network["model"]) / rows)
    return int(n // step + 1) * step


def rows_to_hide__to_the_nearest(rows, compute, network, step):
    if compute <= network["model"]:
        return None
    n = network["data"] / ((compute - network["model"]) / rows)
    return int(n / step + 0.5) * step


def rows_to_hide__more_of_them(rows, compute, network, step):
    if compute <= network["model"]:
        return None
    n = rows * network["data"] / (compute - network["model"])
    return rows + ceil(n / step) * step


def rows_to_hide__in_turn(rows, compute, network, step):
    if compute <= network["data"]:
        return None
    return _up(rows * network["model"] / (compute - network["data"]), step)


def rows_to_hide__side_by_side(rows, compute, network, step):
    if network["model"] > compute:
        return None
    steps = rows * network["data"] / (compute * step)
    return step * -int(-steps // 1)
