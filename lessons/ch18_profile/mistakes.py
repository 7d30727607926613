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


def best_change__least_sum(times, changes):
    steps = {n: sum(_after(times, f).values()) for n, f in changes.items()}
    return _bound(times), min(steps, key=steps.get)


def best_change__only_what_bounds(times, changes):
    bound = _bound(times)
    factors = {n: f.get(bound, 1.0) for n, f in changes.items()}
    best = min(factors, key=factors.get)
    return bound, best if factors[best] < 1 else None


def best_change__whatever_is_best(times, changes):
    steps = {n: max(_after(times, f).values()) for n, f in changes.items()}
    return _bound(times), min(steps, key=steps.get)


def best_change__one_after_another(times, changes):
    best, shortest, now = None, max(times.values()), times
    for name, factors in changes.items():
        now = _after(now, factors)
        if max(now.values()) < shortest:
            best, shortest = name, max(now.values())
    return _bound(times), best


def best_change__divided(times, changes):
    inverse = {n: {k: 1 / x for k, x in f.items()} for n, f in changes.items()}
    steps = {n: max(_after(times, f).values()) for n, f in inverse.items()}
    best = min(steps, key=steps.get)
    return _bound(times), best if steps[best] < max(times.values()) else None


def best_change__bound_afterwards(times, changes):
    steps = {n: max(_after(times, f).values()) for n, f in changes.items()}
    best = min(steps, key=steps.get)
    if steps[best] >= max(times.values()):
        return _bound(times), None
    return _bound(_after(times, changes[best])), best


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


def _turns(events):
    """Of each collective (start, end, device) of all devices."""
    by_device = defaultdict(list)
    for device, name, start, end in sorted(events, key=lambda e: e[2]):
        if name in COLLECTIVES:
            by_device[device].append((start, end, device))
    return list(zip(*by_device.values(), strict=True))


def _most(waited):
    return max(waited.items(), key=lambda each: each[1])


def waited_for__to_the_end(events):
    waited = defaultdict(float)
    for turn in _turns(events):
        last = max(turn)[2]
        waited[last] += sum(b - a for a, b, d in turn if d != last)
    return _most(waited)


def waited_for__to_the_last_end(events):
    waited = defaultdict(float)
    for turn in _turns(events):
        _, end, last = max(turn)
        waited[last] += sum(end - a for a, _, d in turn if d != last)
    return _most(waited)


def waited_for__last_most_often(events):
    waited, often = _waited(_starts(events)), defaultdict(int)
    for turn in _turns(events):
        often[max(turn)[2]] += 1
    device = max(often, key=often.get)
    return device, waited[device]


def waited_for__one_wait_of_each(events):
    waited = defaultdict(float)
    for turn in _turns(events):
        waited[max(turn)[2]] += max(turn)[0] - min(turn)[0]
    return _most(waited)


def waited_for__everyone_later(events):
    waited = defaultdict(float)
    for turn in _turns(events):
        for start, _, device in turn:
            waited[device] += sum(max(0.0, start - a) for a, *_ in turn)
    return _most(waited)


def waited_for__in_the_lists_order_by_name(events):
    met, seen = defaultdict(list), defaultdict(int)
    for device, name, start, _ in events:
        if name in COLLECTIVES:
            seen[device, name] += 1
            met[name, seen[device, name]].append((start, device))
    waited = defaultdict(float)
    for turn in met.values():
        last, device = max(turn)
        waited[device] += sum(last - start for start, _ in turn)
    return _most(waited)


def waited_for__all_reduces_only(events):
    waited = _waited(_starts([e for e in events if e[1] == "all-reduce"]))
    return _most(waited)


def _joined(spans):
    found = []
    for a, b in sorted(spans):
        if found and a <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], b))
        else:
            found.append((a, b))
    return found


def exposed__hidden_twice(products, collectives):
    total = 0.0
    for a, b in _joined(collectives):
        hidden = sum(max(0.0, min(b, e) - max(a, s)) for s, e in products)
        total += max(0.0, b - a - hidden)
    return total


def exposed__pauses_too(products, collectives):
    a = min(start for start, _ in collectives)
    b = max(end for _, end in collectives)
    spans = _joined(products)
    return b - a - sum(max(0.0, min(b, e) - max(a, s)) for s, e in spans)


def exposed__each_less_each(products, collectives):
    total = 0.0
    for a, b in collectives:
        hidden = sum(max(0.0, min(b, e) - max(a, s)) for s, e in products)
        total += max(0.0, b - a - hidden)
    return total


def _total(spans):
    return sum(b - a for a, b in spans)


def exposed__difference_of_sums(products, collectives):
    return max(0.0, _total(collectives) - _total(products))


def exposed__difference_of_unions(products, collectives):
    both = _joined(collectives), _joined(products)
    return max(0.0, _total(both[0]) - _total(both[1]))


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


def exposed__whole_milliseconds(products, collectives):
    def ticks(spans):
        return {t for a, b in spans for t in range(int(a), int(b))}

    return float(len(ticks(collectives) - ticks(products)))


def exposed__hidden_at_the_start(products, collectives):
    alone = [
        (a, b)
        for a, b in collectives
        if not any(s <= a < e for s, e in products)
    ]
    return float(sum(b - a for a, b in _joined(alone)))
