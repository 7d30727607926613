"""The checks of ch15_pods: plans that were recorded, and others drawn."""

import functools
import math
from pathlib import Path

import numpy as np

from grader import Asked
from minipod import pods, torus, traffic
from minipod.pods import recorded
from minipod.pods.plan import plan

WEIGHTS = {"all-gather", "reduce-scatter", "all-reduce"}


@functools.cache
def planned(*programs):
    """What plans.json holds of programs, as (rows of the batch, Plan)."""
    found = []
    for entry in recorded.load(Path(__file__).parent):
        name = entry["names"][0]
        if name in programs:
            on, _, rest = entry["place"].partition(", ")
            pairs = rest.partition(":")[0].split(", ")
            axes = {k: int(n) for k, n in (each.split("=") for each in pairs)}
            made = pods.mesh(on, **axes)
            facts, versions = entry["facts"], entry["versions"]
            of = plan(name, on, made, facts, versions, recorded=True)
            found.append((2 ** int(name.partition("_")[2]), of))
    return found


def one(name, on, **axes):
    (found,) = (
        p for _, p in planned(name) if p.on == on and dict(p.mesh.shape) == axes
    )
    return found


def memory(p):
    return {k: p.memory[k] for k in ("arguments", "peak", "limit")}


def compiler(plans, calls):
    """plan(n) for the plans at hand, at most so many times."""
    many = "compilation" if calls == 1 else "compilations"
    unknown, enough = "is none of the batch sizes", f"more than {calls} {many}"
    return Asked(plans, calls, "plan", unknown, enough)


def synthetic(fixed, full, limit=15.75):
    fits = full <= limit
    held = {"arguments": fixed, "peak": full}
    held = {k: int(n * 2**30) if fits else None for k, n in held.items()}
    return {"fits": fits, "memory": held | {"limit": int(limit * 2**30)}}


def test_make_it_fit(check):
    def sweep(name, on, **axes):
        names = [f"{name}_{n}" for n in range(10, 22)]
        found = {
            rows: {"fits": p.fits, "memory": memory(p)}
            for rows, p in planned(*names)
            if p.on == on and dict(p.mesh.shape) == axes
        }
        return dict(sorted(found.items()))

    def cases(rng):
        sweeps = [
            sweep("small", "v5e:4x4", data=16, model=1),
            sweep("large", "v5e:16x16", data=16, model=16),
        ]
        for fixed, gathered, each in ((2.0, 6.0, 0.05), (0.4, 1.0, 0.06)):
            fixed *= rng.uniform(0.9, 1.1)

            def full(n, fixed=fixed, gathered=gathered, each=each):
                """Few rows: gathered weights; many: 64 rows at a time."""
                return fixed + max(gathered, each * 64 * math.ceil(n / 64))

            size = [int(n) for n in rng.permutation(np.arange(8, 400, 8))[:13]]
            sweeps.append(
                {8 * n: synthetic(fixed, full(n)) for n in sorted(size)}
            )
        one = int(rng.integers(1, 100))
        sweeps.append({one: synthetic(1.0, float(rng.uniform(2, 15)))})
        sweeps.append({one: synthetic(1.0, float(rng.uniform(17, 30)))})
        # hardly any arguments: these fit, though little memory stays free
        sweeps.append({8 * n: synthetic(0.01, n / 2) for n in range(1, 41)})
        # fifteen sizes that fit, fifteen that do not: one call more for whoever
        # cuts a list elsewhere than in the middle
        sweeps.append({8 * n: synthetic(1.0, float(n)) for n in range(1, 31)})
        drawn = []
        for plans in sweeps:
            too_large = {n: p for n, p in plans.items() if not p["fits"]}
            small = {n: p for n, p in plans.items() if p["fits"]}
            for some in (plans, too_large, small):
                if some:
                    calls = len(some).bit_length()
                    drawn.append((compiler(some, calls), [*some]))
        return drawn

    def oracle(plan, rows):
        return max((n for n in rows if plan.table[n]["fits"]), default=None)

    check(cases, oracle=oracle, values="label")


def drawn_plan(rng, i):
    sizes = [int(n) for n in rng.choice([1, 2, 4, 8, 16], 2)]
    fits = bool(rng.random() < 0.8)
    peak = int(rng.uniform(0.3, 1) * 2**34) if fits else None
    seconds = {
        name: float(rng.uniform(0.5, 2) / math.prod(sizes)) if fits else None
        for name in ("compute", "memory", "network")
    }
    return {
        "on": f"pod {i}",
        "mesh": {"data": sizes[0], "model": sizes[1]},
        "fits": fits,
        "memory": {"peak": peak, "limit": 2**34},
        "seconds": seconds,
    }


def test_choose_plan(check):
    def cases(rng):
        known = []
        for name in ("large_18", "large_15", "small_14"):
            plans = [
                {
                    "on": p.on,
                    "mesh": dict(p.mesh.shape),
                    "fits": p.fits,
                    "memory": memory(p),
                    "seconds": p.data()["seconds"],
                }
                for _, p in planned(name)
            ]
            known.append([plans[i] for i in rng.permutation(len(plans))])
        drawn = [(plans, 0.5) for plans in known]
        drawn.append((known[0], 0.05))
        for _ in range(12):
            plans = [drawn_plan(rng, i) for i in range(9)]
            drawn.append((plans, float(rng.uniform(0.02, 0.4))))
        # the first is the cheapest, takes all the time that there is, and has
        # a peak of just 90 %; the cheapest of the others has a byte more
        room, times = 10 * 2**30, ("compute", "memory", "network")
        close = [
            {
                "on": f"pod {i}",
                "mesh": {"data": chips, "model": 1},
                "fits": True,
                "memory": {"peak": 9 * 2**30 + over, "limit": room},
                "seconds": dict.fromkeys(times, 0.25),
            }
            for i, (chips, over) in enumerate([(4, 0), (2, 1), (8, -1)])
        ]
        drawn += [(close, 0.25), (close[::-1], 0.25)]
        # a mesh has one axis, or two, or three, of any names
        for step in (0.01, 0.02):
            meshes = [
                ({"data": 2, "fsdp": 4, "model": 2}, 2 * step),  # 32 steps
                ({"data": 4, "model": 3}, 2 * step),  # 24
                ({"x": 3}, 10 * step),  # 30
            ]
            named = [
                {
                    "on": f"pod {i}",
                    "mesh": mesh,
                    "fits": True,
                    "memory": {"peak": 2**30, "limit": room},
                    "seconds": dict.fromkeys(times, longest),
                }
                for i, (mesh, longest) in enumerate(meshes)
            ]
            drawn += [(named, 0.25), (named[:2], 0.25)]
        return drawn

    def oracle(plans, deadline):
        best, found = math.inf, None
        for p in plans:
            if p["fits"] and p["memory"]["peak"] <= 0.9 * p["memory"]["limit"]:
                step = np.max([*p["seconds"].values()])
                cost = step * np.prod([*p["mesh"].values()])
                if step <= deadline and cost < best:
                    best, found = cost, (p["on"], p["mesh"])
        return found

    check(cases, oracle=oracle, values="label")


def test_costliest_axis(check):
    def known(name, on, **axes):
        p = one(name, on, **axes)
        lies = torus.torus_of(p.mesh, p.chip.carrier.closes)
        kept = [
            c for c in p.collectives if c.op in WEIGHTS and len(c.axes) == 1
        ]
        lines = {c.axes[0]: lies.lines(c.groups[0]) for c in kept}
        told = [
            {
                "op": c.op,
                "bytes": c.bytes,
                "times": c.times,
                "axis": c.axes[0],
            }
            for c in kept
        ]
        return told, lines, p.chip.carrier.bytes_per_second

    def cases(rng):
        drawn = [
            known("large_18", "v5e:16x16", data=16, model=16),
            known("large_18", "v5e:16x16", data=256, model=1),
            known("small_14", "v5e:4x4", data=4, model=4),
            known("large_18", "v5p:4x4x4", data=16, model=4),
        ]
        for _ in range(6):
            lines = {
                "data": [(16, True), (16, True)][: int(rng.integers(1, 3))],
                "model": [(int(rng.choice([2, 4, 8])), False)],
            }
            told = [
                {
                    "op": str(rng.choice(sorted(WEIGHTS))),
                    "bytes": int(rng.integers(1, 64)) * 2**20,
                    "times": int(rng.integers(1, 48)),
                    "axis": str(rng.choice(["data", "model"])),
                }
                for _ in range(5)
            ]
            drawn.append((told, lines, float(rng.choice([4.5e10, 9e10]))))
        return drawn

    def oracle(collectives, lines, speed):
        total = {}
        for c in collectives:
            n = np.prod([n for n, _ in lines[c["axis"]]])
            links = np.sum([1 + bool(ring) for _, ring in lines[c["axis"]]])
            run = c["bytes"] * (1 - 1 / n) / links / speed
            run *= 1 + (c["op"] == "all-reduce")
            total[c["axis"]] = total.get(c["axis"], 0.0) + run * c["times"]
        axis = max(total, key=total.get)
        return axis, float(total[axis])

    check(cases, oracle=oracle, values=("label", "seconds"))


def network(p):
    """Seconds of the network along each axis."""
    lines = {}
    for axis in p.mesh.axis_names:
        along = [c for c in p.collectives if c.axes == (axis,)]
        lines[axis] = traffic.seconds(along, p.chip.carrier, p.mesh)
    return lines


def test_rows_to_hide(check):
    def cases(rng):
        large = {"on": "v5e:16x16", "data": 16, "model": 16}
        small = {"on": "v5e:4x4", "data": 4, "model": 4}
        known = [
            (18, "large", large),
            (15, "large", large),
            (12, "small", small),
        ]
        drawn = []
        for n, name, where in known:
            p = one(f"{name}_{n}", **where)
            drawn.append((2**n, p.seconds.compute, network(p), 256))
        for grows in (0.1, 0.5, 0.9, 1.3, 1.6, 0.0):
            compute = float(rng.uniform(0.01, 0.1))
            times = {
                "data": compute * float(rng.uniform(0.3, 3)),
                "model": compute * grows,
            }
            rows = int(rng.integers(100, 1000)) * 64
            drawn.append((rows, compute, times, int(rng.choice([32, 48, 64]))))
        for over in (0.0, 0.25, 0.75):  # of a step; exact in binary
            rows = 2 ** int(rng.integers(11, 15))
            step = int(rng.choice([32, 64, 128]))
            times = {"data": (1 + over * step / rows) / 64, "model": 1 / 64}
            drawn.append((rows, 1 / 32, times, step))
        # half a row more than a multiple of step; and nothing is gained by rows
        late = {"data": (1 + 0.5 / 2048) / 64, "model": 1 / 64}
        drawn.append((2048, 1 / 32, late, 64))
        drawn.append((2048, 1 / 64, late, 64))
        return drawn

    def oracle(rows, compute, network, step):
        if compute <= network["model"]:
            return None
        n = step
        while n * compute < rows * network["data"] + n * network["model"]:
            n += step
        return n

    check(cases, oracle=oracle, values="count")
