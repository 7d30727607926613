"""Wrong answers of ch18_profile that its mistakes.py does not know."""

from collections import defaultdict


def best_change__only_the_bound(times, changes):
    return max(times, key=times.get)


def best_change__the_shortest_bounds(times, changes):
    steps = {
        n: max(t * f.get(w, 1) for w, t in times.items())
        for n, f in changes.items()
    }
    best = min(steps, key=steps.get)
    better = steps[best] < max(times.values())
    return min(times, key=times.get), best if better else None


def best_change__smallest_factor(times, changes):
    best = min(changes, key=lambda n: min(changes[n].values()))
    return max(times, key=times.get), best


def _starts(events):
    found = defaultdict(list)
    for device, name, start, _ in sorted(events, key=lambda e: e[2]):
        if name.startswith("all-"):
            found[device].append(start)
    return found


def waited_for__only_the_device(events):
    starts = _starts(events)
    return max(starts, key=lambda d: sum(starts[d]))


def waited_for__longest_single_wait(events):
    starts = _starts(events)
    best = (0, -1.0)
    for turn in zip(*starts.values(), strict=True):
        last = max(turn)
        here = list(starts)[turn.index(last)], last - min(turn)
        best = max(best, here, key=lambda each: each[1])
    return best


def waited_for__last_most_often(events):
    starts, often = _starts(events), defaultdict(int)
    for turn in zip(*starts.values(), strict=True):
        often[list(starts)[turn.index(max(turn))]] += 1
    return max(often.items(), key=lambda each: each[1])


def waited_for__first_in_each(events):
    starts, waited = _starts(events), defaultdict(float)
    for turn in zip(*starts.values(), strict=True):
        first = list(starts)[turn.index(min(turn))]
        waited[first] += sum(max(turn) - s for s in turn)
    return max(waited.items(), key=lambda each: each[1])


def exposed__all_of_it(products, collectives):
    return float(sum(b - a for a, b in collectives))


def exposed__the_hidden_part(products, collectives):
    total = 0.0
    for a, b in collectives:
        for s, e in products:
            total += max(0.0, min(b, e) - max(a, s))
    return total


def exposed__from_first_to_last(products, collectives):
    a, b = min(a for a, _ in collectives), max(b for _, b in collectives)
    return b - a - sum(max(0.0, min(b, e) - max(a, s)) for s, e in products)


def exposed__products_twice(products, collectives):
    total = 0.0
    for a, b in collectives:
        total += b - a
        for s, e in products:
            total -= max(0.0, min(b, e) - max(a, s))
    return total
