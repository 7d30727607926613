"""Right, written another way."""

import numpy as np


def best_change(times, changes):
    def step(factors):
        return max(times[w] * factors.get(w, 1) for w in times)

    choices = {None: {}} | changes
    return sorted(times, key=times.get)[-1], min(
        choices, key=lambda name: step(choices[name])
    )


def waited_for(events):
    talks = [e for e in events if e[1].startswith("all-")]
    names = sorted({e[0] for e in talks})
    starts = np.array([sorted(e[2] for e in talks if e[0] == d) for d in names])
    late = starts.max(axis=0) - starts
    last = starts.argmax(axis=0)
    sums = [late[:, last == i].sum() for i in range(len(names))]
    worst = int(np.argmax(sums))
    return names[worst], float(sums[worst])


def exposed(products, collectives):
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
