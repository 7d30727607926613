"""Right, in a third way."""

from itertools import groupby


def best_change(times, changes):
    now = max(times.values())
    after = {
        name: max(times[w] * factors.get(w, 1.0) for w in times)
        for name, factors in changes.items()
    }
    shorter = [name for name in after if after[name] < now]
    (bound,) = (w for w in times if times[w] == now)
    return bound, min(shorter, key=after.get, default=None)


def waited_for(events):
    talks = sorted(e for e in events if e[1] in ("all-reduce", "all-gather"))
    devices = {
        d: sorted(e[2] for e in group)
        for d, group in groupby(talks, key=lambda e: e[0])
    }
    blame = dict.fromkeys(devices, 0.0)
    for n in range(len(next(iter(devices.values())))):
        last = max(devices, key=lambda d, n=n: devices[d][n])
        for d in devices:
            blame[last] += devices[last][n] - devices[d][n]
    worst = max(blame, key=blame.get)
    return worst, blame[worst]


def exposed(products, collectives):
    def joined(spans):
        found = []
        for a, b in sorted(spans):
            if found and a <= found[-1][1]:
                found[-1][1] = max(b, found[-1][1])
            else:
                found.append([a, b])
        return found

    total = 0.0
    for a, b in joined(collectives):
        total += b - a
        for s, e in joined(products):
            total -= max(0.0, min(b, e) - max(a, s))
    return total
