"""Known wrong answers of ch18_profile, as code; words.toml explains them."""

from collections import defaultdict

COLLECTIVES = ("all-reduce", "all-gather")


def _after(times, factors):
    return {which: t * factors.get(which, 1.0) for which, t in times.items()}


def _bound(times):
    return max(times, key=times.get)


def best_change__by_the_sum(times, changes):
    steps = {n: sum(_after(times, f).values()) for n, f in changes.items()}
    best = min(steps, key=steps.get)
    shorter = steps[best] < sum(times.values())
    return _bound(times), best if shorter else None


def best_change__only_what_bounds(times, changes):
    bound = _bound(times)
    factors = {n: f.get(bound, 1.0) for n, f in changes.items()}
    best = min(factors, key=factors.get)
    return bound, best if factors[best] < 1 else None


def best_change__whatever_is_best(times, changes):
    steps = {n: max(_after(times, f).values()) for n, f in changes.items()}
    return _bound(times), min(steps, key=steps.get)


def _starts(events, in_order=True):
    found = defaultdict(list)
    ordered = sorted(events, key=lambda e: e[2]) if in_order else events
    for device, name, start, _ in ordered:
        if name in COLLECTIVES:
            found[device].append(start)
    return found


def _waited(starts):
    waited = defaultdict(float)
    for turn in zip(*starts.values(), strict=True):
        last = max(turn)
        waited[list(starts)[turn.index(last)]] += sum(last - s for s in turn)
    return waited


def waited_for__longest_in_collectives(events):
    spent = defaultdict(float)
    for device, name, start, end in events:
        if name in COLLECTIVES:
            spent[device] += end - start
    return max(spent.items(), key=lambda each: each[1])


def waited_for__longest_work(events):
    work = defaultdict(float)
    for device, name, start, end in events:
        if name not in COLLECTIVES:
            work[device] += end - start
    busiest = max(work, key=work.get)
    return busiest, _waited(_starts(events))[busiest]


def waited_for__in_the_lists_order(events):
    waited = _waited(_starts(events, in_order=False))
    return max(waited.items(), key=lambda each: each[1])


def exposed__difference_of_sums(products, collectives):
    def total(spans):
        return sum(b - a for a, b in spans)

    return max(0.0, total(collectives) - total(products))


def _without(span, products):
    left = [span]
    for a, b in products:
        left = [
            part
            for s, e in left
            for part in ((s, min(e, a)), (max(s, b), e))
            if part[1] > part[0]
        ]
    return left


def exposed__each_by_itself(products, collectives):
    parts = (part for c in collectives for part in _without(c, products))
    return float(sum(b - a for a, b in parts))


def exposed__only_the_uncovered(products, collectives):
    alone = [
        (a, b)
        for a, b in collectives
        if not any(s < b and a < e for s, e in products)
    ]
    moments = sorted({t for span in alone for t in span})
    return float(
        sum(
            end - start
            for start, end in zip(moments, moments[1:], strict=False)
            if any(a <= start and end <= b for a, b in alone)
        )
    )
