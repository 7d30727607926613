"""Known wrong answers of ch15_pods, as code; words.toml explains them."""

import math


def make_it_fit__one_by_one(plan, rows):
    found = None
    for n in rows:
        if not plan(n)["fits"]:
            break
        found = n
    return found


def _fitting(rows, fits):
    """How many of the rows fit, by halving."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if fits(rows[middle]):
            low = middle + 1
        else:
            high = middle
    return low


def make_it_fit__first_too_large(plan, rows):
    low = _fitting(rows, lambda n: plan(n)["fits"])
    return rows[low] if low < len(rows) else None


def make_it_fit__last_for_none(plan, rows):
    low = _fitting(rows, lambda n: plan(n)["fits"])
    return rows[low - 1]


def make_it_fit__smallest_for_none(plan, rows):
    low = _fitting(rows, lambda n: plan(n)["fits"])
    return rows[max(low - 1, 0)]


def make_it_fit__first_that_fits(plan, rows):
    high = len(rows)
    while high:
        high //= 2
        if plan(rows[high])["fits"]:
            return rows[high]
    return None


def make_it_fit__arguments_only(plan, rows):
    memory = plan(rows[0])["memory"]
    if memory["arguments"] is None or memory["arguments"] > memory["limit"]:
        return None
    return rows[-1]


def make_it_fit__all_of_it_grows(plan, rows):
    memory = plan(rows[0])["memory"]
    if memory["peak"] is None:
        return None
    most = rows[0] * memory["limit"] / memory["peak"]
    return max(n for n in rows if n <= most)


def make_it_fit__from_the_largest(plan, rows):
    return next((n for n in reversed(rows) if plan(n)["fits"]), None)


def make_it_fit__arguments_beside_the_peak(plan, rows):
    def fits(n):
        found = plan(n)
        held = found["memory"]
        return (
            found["fits"] and held["arguments"] + held["peak"] <= held["limit"]
        )

    low = _fitting(rows, fits)
    return rows[low - 1] if low else None


def _choose(plans, deadline, cost, most=0.9, late=True):
    found = []
    for i, p in enumerate(plans):
        memory = p["memory"]
        if p["fits"] and memory["peak"] <= most * memory["limit"]:
            step = max(p["seconds"].values())
            if step <= deadline or not late:
                chips = math.prod(p["mesh"].values())
                found.append((cost(chips, step, p["seconds"]), i))
    if not found:
        return None
    best = plans[min(found)[1]]
    return best["on"], best["mesh"]


def choose_plan__fastest(plans, deadline):
    return _choose(plans, deadline, lambda chips, step, _: step)


def choose_plan__fewest_chips(plans, deadline):
    return _choose(plans, deadline, lambda chips, step, _: (chips, step))


def choose_plan__sum_of_three(plans, deadline):
    return _choose(plans, deadline, lambda n, _, times: n * sum(times.values()))


def choose_plan__arithmetic_only(plans, deadline):
    return _choose(plans, deadline, lambda n, _, times: n * times["compute"])


def choose_plan__filled_to_the_brim(plans, deadline):
    return _choose(plans, deadline, lambda n, step, _: n * step, most=1)


def choose_plan__too_late(plans, deadline):
    return _choose(plans, deadline, lambda n, step, _: n * step, late=False)


def choose_plan__none_counts_as_nothing(plans, deadline):
    found = []
    for i, p in enumerate(plans):
        memory = p["memory"]
        step = max(t or 0.0 for t in p["seconds"].values())
        if (memory["peak"] or 0) <= 0.9 * memory["limit"] and step <= deadline:
            found.append((math.prod(p["mesh"].values()) * step, i))
    if not found:
        return None
    best = plans[min(found)[1]]
    return best["on"], best["mesh"]


def choose_plan__two_axes(plans, deadline):
    best, found = math.inf, None
    for p in plans:
        memory, mesh = p["memory"], p["mesh"]
        if p["fits"] and memory["peak"] <= 0.9 * memory["limit"]:
            step = max(p["seconds"].values())
            cost = mesh.get("data", 1) * mesh.get("model", 1) * step
            if step <= deadline and cost < best:
                best, found = cost, (p["on"], mesh)
    return found


def choose_plan__two_sizes_unpacked(plans, deadline):
    for plan in plans:
        if plan["fits"]:
            _, _ = plan["mesh"].values()
    return _choose(plans, deadline, lambda chips, step, _: chips * step)


def choose_plan__all_three_in_turn(plans, deadline):
    def in_turn(p):
        total = sum(p["seconds"].values()) if p["fits"] else None
        return p | {"seconds": dict.fromkeys(p["seconds"], total)}

    def cost(chips, step, _):
        return chips * step

    return _choose([*map(in_turn, plans)], deadline, cost)


def choose_plan__sizes_added(plans, deadline):
    best = None
    for p in plans:
        memory = p["memory"]
        if p["fits"] and memory["peak"] <= 0.9 * memory["limit"]:
            step = max(p["seconds"].values())
            cost = sum(p["mesh"].values()) * step
            if step <= deadline and (best is None or cost < best[0]):
                best = cost, p["on"], p["mesh"]
    return best and best[1:]


def choose_plan__axes_counted(plans, deadline):
    best = None
    for p in plans:
        memory = p["memory"]
        if p["fits"] and memory["peak"] <= 0.9 * memory["limit"]:
            step = max(p["seconds"].values())
            cost = len(p["mesh"]) * step
            if step <= deadline and (best is None or cost < best[0]):
                best = cost, p["on"], p["mesh"]
    return best and best[1:]


def choose_plan__deadline_last(plans, deadline):
    best = None
    for p in plans:
        memory = p["memory"]
        if p["fits"] and memory["peak"] <= 0.9 * memory["limit"]:
            step = max(p["seconds"].values())
            cost = math.prod(p["mesh"].values()) * step
            if best is None or cost < best[0]:
                best = cost, step, p["on"], p["mesh"]
    return best[2:] if best and best[1] <= deadline else None


def _links(line):
    return sum(2 if ring else 1 for _, ring in line)


def _costliest(
    collectives, lines, speed, run=None, links=_links, chips=None, add=None
):
    total = {}
    for c in collectives:
        line = lines[c["axis"]]
        n = chips(line) if chips else math.prod(n for n, _ in line)
        passes = 2 if c["op"] == "all-reduce" else 1
        sent = passes * c["bytes"] * (n - 1) / n
        if run:
            sent = run(c, sent)
        else:
            sent *= c["times"]
        before = total.get(c["axis"], 0.0)
        seconds = sent / (links(line) * speed)
        total[c["axis"]] = add(before, seconds) if add else before + seconds
    return max(total.items(), key=lambda item: item[1])


def costliest_axis__each_once(collectives, lines, speed):
    return _costliest(collectives, lines, speed, run=lambda c, sent: sent)


def costliest_axis__one_link(collectives, lines, speed):
    return _costliest(collectives, lines, speed, links=lambda line: 1)


def costliest_axis__all_rings(collectives, lines, speed):
    return _costliest(
        collectives, lines, speed, links=lambda line: 2 * len(line)
    )


def costliest_axis__one_line(collectives, lines, speed):
    return _costliest(
        collectives, lines, speed, links=lambda line: _links(line[:1])
    )


def costliest_axis__all_reduce_once(collectives, lines, speed):
    def run(c, sent):
        return c["times"] * sent / (2 if c["op"] == "all-reduce" else 1)

    return _costliest(collectives, lines, speed, run=run)


def costliest_axis__longest_of_them(collectives, lines, speed):
    return _costliest(collectives, lines, speed, add=max)


def costliest_axis__most_bytes(collectives, lines, speed):
    total = {}
    for c in collectives:
        n = math.prod(n for n, _ in lines[c["axis"]])
        passes = 2 if c["op"] == "all-reduce" else 1
        sent = passes * c["times"] * c["bytes"] * (n - 1) / n
        total[c["axis"]] = total.get(c["axis"], 0.0) + sent
    axis, sent = max(total.items(), key=lambda item: item[1])
    return axis, sent / (_links(lines[axis]) * speed)


def costliest_axis__chips_added(collectives, lines, speed):
    return _costliest(
        collectives, lines, speed, chips=lambda line: sum(n for n, _ in line)
    )


def costliest_axis__own_part_sent(collectives, lines, speed):
    def whole(c, sent):
        return (2 if c["op"] == "all-reduce" else 1) * c["bytes"] * c["times"]

    return _costliest(collectives, lines, speed, run=whole)


def costliest_axis__times_the_others(collectives, lines, speed):
    def more(c, sent):
        n = math.prod(chips for chips, _ in lines[c["axis"]])
        return c["times"] * sent * n

    return _costliest(collectives, lines, speed, run=more)


def costliest_axis__all_axes_together(collectives, lines, speed):
    each = {
        axis: _costliest(
            [c for c in collectives if c["axis"] == axis], lines, speed
        )[1]
        for axis in {c["axis"] for c in collectives}
    }
    return max(each, key=lambda axis: each[axis]), sum(each.values())


def rows_to_hide__nothing_grows(rows, compute, network, step):
    way = network["data"] + network["model"]
    return math.ceil(rows * way / compute / step) * step


def rows_to_hide__weights_only(rows, compute, network, step):
    return math.ceil(rows * network["data"] / compute / step) * step


def rows_to_hide__below_zero(rows, compute, network, step):
    gained = (compute - network["model"]) / rows
    return math.ceil(network["data"] / gained / step) * step


def rows_to_hide__rounded_down(rows, compute, network, step):
    gained = (compute - network["model"]) / rows
    if gained <= 0:
        return None
    return math.floor(network["data"] / gained / step) * step


def rows_to_hide__one_step_more(rows, compute, network, step):
    gained = (compute - network["model"]) / rows
    if gained <= 0:
        return None
    return (math.floor(network["data"] / gained / step) + 1) * step


def rows_to_hide__to_the_nearest(rows, compute, network, step):
    gained = (compute - network["model"]) / rows
    if gained <= 0:
        return None
    return round(network["data"] / gained / step) * step


def rows_to_hide__more_of_them(rows, compute, network, step):
    gained = (compute - network["model"]) / rows
    if gained <= 0:
        return None
    more = math.ceil(network["data"] / gained / step) * step
    return rows + more


def rows_to_hide__in_turn(rows, compute, network, step):
    gained = (compute - network["data"]) / rows
    if gained <= 0:
        return None
    return math.ceil(network["model"] / gained / step) * step


def rows_to_hide__side_by_side(rows, compute, network, step):
    if compute < network["model"]:
        return None
    return math.ceil(rows * network["data"] / compute / step) * step


def rows_to_hide__whole_batches(rows, compute, network, step):
    left = compute - network["model"]
    if left <= 0:
        return None
    return -(-math.ceil(network["data"] / left) * rows // step) * step


def rows_to_hide__never_fewer(rows, compute, network, step):
    gained = (compute - network["model"]) / rows
    if gained <= 0:
        return None
    needed = max(rows, network["data"] / gained)
    return math.ceil(needed / step) * step
