"""The checks of ch18_profile: plans and profiles drawn, and one recorded."""

from pathlib import Path

import numpy as np

from minipod.pods import recorded

THREE = ("compute", "memory", "network")


def planned(n):
    (plan,) = recorded.plans(
        Path(__file__).parent, f"rows_{n}", "v5e:2x4", data=8
    )
    return {name: getattr(plan.seconds, name) for name in THREE}


def test_best_change(check):
    def cases(rng):
        drawn = []
        of_a_plan = {
            "twice the chips": {"compute": 0.5, "memory": 0.6},
            "gather in 8 bits": {"network": 0.5, "memory": 0.8},
            "faster links": {"network": 0.25},
            "recompute less": {"compute": 0.75, "memory": 1.5},
        }
        drawn += [(planned(n), of_a_plan) for n in (13, 14, 16)]
        # nothing helps: what bounds stays, or something else gets longer
        times = dict(zip(THREE, (2.0, 3.0, 5.0), strict=True))
        vain = {
            "more arithmetic saved": {"compute": 0.1},
            "shorter, but": {"network": 0.2, "memory": 1.9},
        }
        drawn.append((times, vain))
        # the largest gain on what bounds makes another one the longest
        turned = {
            "much": {"network": 0.1, "compute": 2.2},
            "a little": {"network": 0.7},
        }
        drawn.append((times, turned))
        for _ in range(8):
            size = int(rng.integers(2, 6))
            times = dict(zip(THREE, rng.uniform(1, 9, 3).tolist(), strict=True))
            changes = {}
            for i in range(size):
                some = rng.permutation(THREE)[: int(rng.integers(1, 4))]
                changes[f"change {i}"] = {
                    str(name): float(rng.uniform(0.2, 1.6)) for name in some
                }
            for name, factor in changes["change 0"].items():
                if name == max(times, key=times.get):
                    changes["change 0"][name] = factor + 1.0
            steps = [
                max(t * f.get(n, 1.0) for n, t in times.items())
                for f in changes.values()
            ]
            steps.append(max(times.values()))
            # what leaves the bound alone may tie with the step as it is now
            kept = [
                i
                for i, s in enumerate(steps[:-1])
                if s > steps[-1] - 1e-9 or steps.count(s) == 1
            ]
            named = list(changes)
            drawn.append((times, {named[i]: changes[named[i]] for i in kept}))
        return drawn

    def oracle(times, changes):
        now = np.array([times[name] for name in THREE])
        names = [*changes]
        factors = np.array(
            [[changes[n].get(w, 1.0) for w in THREE] for n in names]
        )
        steps = (factors * now).max(axis=1)
        i = int(steps.argmin())
        best = names[i] if steps[i] < now.max() else None
        return THREE[int(now.argmax())], best

    check(cases, oracle=oracle, values="label")


def profile(rng, devices, turns, busiest):
    """Arrivals are drawn; who computes most is not who is late."""
    late = (busiest + 1) % devices
    events, now = [], 0.0
    for turn in range(turns):
        starts = now + rng.uniform(1, 4, devices)
        starts[late] += 6.0 * (turn != 1)
        starts[busiest] = min(starts[busiest], now + 3.9)
        end = float(starts.max()) + 1.0
        for d in range(devices):
            arrives = float(starts[d])
            work = arrives - now if d == busiest else 0.3 * (arrives - now)
            work = min(work, 0.9) if d == late else work
            events.append((d, "fusion.1", arrives - work, arrives))
            # it leaves a little later than the others, each in its own time
            gone = end + float(rng.uniform(0, 0.2))
            name = "all-reduce" if turn % 2 else "all-gather"
            events.append((d, name, arrives, gone))
        now = end + 0.5
    return [events[i] for i in rng.permutation(len(events))]


def test_waited_for(check):
    def cases(rng):
        drawn = []
        for devices, turns in ((2, 3), (3, 5), (8, 4), (5, 6), (8, 7)):
            busiest = int(rng.integers(0, devices))
            drawn.append((profile(rng, devices, turns, busiest),))
        # often last by a little, and once by much
        events = []
        for turn, starts in enumerate(
            [(1, 0, 0.5), (21, 20, 20.5), (41, 40, 40.5), (60, 69, 60)]
        ):
            for d, start in enumerate(starts):
                end = max(starts) + 1.0
                events.append((d, "all-reduce", float(start), end))
                events.append((d, "fusion.1", 20.0 * turn - 3, start - 0.0))
        drawn.append(([events[i] for i in rng.permutation(len(events))],))
        # nothing but collectives; the last device is the late one, or the first
        for on in (1, 2):
            talks = [e for e in events if e[1] == "all-reduce"]
            turned = [((d + on) % 3, *rest) for d, *rest in talks]
            drawn.append((turned[::-1],))
        return drawn

    def oracle(events):
        talks = [e for e in events if e[1] in ("all-reduce", "all-gather")]
        devices = np.unique([e[0] for e in talks])
        starts = np.array(
            [np.sort([e[2] for e in talks if e[0] == d]) for d in devices]
        )
        last = starts.argmax(axis=0)
        waits = (starts.max(axis=0) - starts).sum(axis=0)
        blame = np.bincount(last, weights=waits, minlength=len(devices))
        return int(devices[blame.argmax()]), float(blame.max())

    check(cases, oracle=oracle, values=("id", "seconds"))


def spans(rng, count, longest):
    starts = rng.integers(0, 60, count)
    return [
        (float(a), float(a + n))
        for a, n in zip(starts, rng.integers(2, longest, count), strict=True)
    ]


def test_exposed(check):
    def cases(rng):
        drawn = [
            (spans(rng, products, 9), spans(rng, collectives, 25))
            for products, collectives in ((3, 2), (6, 4), (9, 5), (12, 3))
        ]
        # one gather inside a product, one across its end, one alone
        drawn.append(([(0.0, 10.0), (14.0, 15.0)], [(2.0, 5.0), (8.0, 13.0)]))
        drawn.append(([(0.0, 4.0)], [(6.0, 9.0), (7.0, 12.0)]))
        drawn.append(([(0.0, 9.0), (2.0, 4.0)], [(1.0, 6.0), (8.0, 11.0)]))
        drawn.append(([], [(3.0, 5.0)]))
        drawn.append(([(2.5, 4.0)], [(0.5, 3.0), (3.5, 5.5)]))
        # one inside another, after a pause
        drawn.append(([(9.0, 10.0)], [(0.0, 1.0), (5.0, 12.0), (6.0, 7.0)]))
        return drawn

    def oracle(products, collectives):
        moments = np.arange(0.0, 100.0, 0.5) + 0.25  # ends are halves

        def under_way(spans):
            found = np.zeros(moments.shape, bool)
            for a, b in spans:
                found |= (a < moments) & (moments < b)
            return found

        alone = under_way(collectives) & ~under_way(products)
        return float(0.5 * alone.sum())

    check(cases, oracle=oracle, values="seconds")
