"""Other answers to the exercises of ch18_profile: right ones, known mistakes, and other wrong ones."""

from collections import defaultdict

import numpy as np

from solutions import ch18_profile as right_answers


def best_change__right(times, changes):
    def step(factors):
        return max(times[w] * factors.get(w, 1) for w in times)

    choices = {None: {}} | changes
    return sorted(times, key=times.get)[-1], min(choices, key=lambda name: step(choices[name]))


def best_change__only_the_bound(times, changes):
    return max(times, key=times.get)


def best_change__smallest_factor(times, changes):
    best = min(changes, key=lambda n: min(changes[n].values()))
    return max(times, key=times.get), best


def waited_for__right(events):
    talks = [e for e in events if e[1].startswith("all-")]
    names = sorted({e[0] for e in talks})
    starts = np.array([sorted(e[2] for e in talks if e[0] == d) for d in names])
    late = starts.max(axis=0) - starts
    last = starts.argmax(axis=0)
    sums = [late[:, last == i].sum() for i in range(len(names))]
    worst = int(np.argmax(sums))
    return names[worst], float(sums[worst])


def _starts(events):
    found = defaultdict(list)
    for device, name, start, _ in sorted(events, key=lambda e: e[2]):
        if name.startswith("all-"):
            found[device].append(start)
    return found


def waited_for__longest_single_wait(events):
    starts = _starts(events)
    best = (0, -1.0)
    for turn in zip(*starts.values(), strict=True):
        last = max(turn)
        here = list(starts)[turn.index(last)], last - min(turn)
        best = max(best, here, key=lambda each: each[1])
    return best


def waited_for__first_in_each(events):
    starts, waited = _starts(events), defaultdict(float)
    for turn in zip(*starts.values(), strict=True):
        first = list(starts)[turn.index(min(turn))]
        waited[first] += sum(max(turn) - s for s in turn)
    return max(waited.items(), key=lambda each: each[1])


def exposed__right(products, collectives):
    marks = [(a, 1, 0) for a, _ in collectives]
    marks += [(b, -1, 0) for _, b in collectives]
    marks += [(a, 0, 1) for a, _ in products]
    marks += [(b, 0, -1) for _, b in products]
    total, talking, working, before = 0.0, 0, 0, 0.0
    for at, talk, work in sorted(marks):
        if talking and not working:
            total += at - before
        talking, working, before = talking + talk, working + work, at
    return total


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


# A small change of the right answer that once passed.
def exposed__a_span_inside_ends_the_outer(products, collectives):
    joined = []
    for start, end in sorted(collectives):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return right_answers.exposed(products, joined)
