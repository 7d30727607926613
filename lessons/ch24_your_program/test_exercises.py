"""The checks of ch24_your_program; the oracles compute in Python and NumPy."""

import json
from functools import partial

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from grader import Asked, Budget, fitting, sent

OPS = [
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
]


def test_budget(check):
    def entry(rng, op, times=None):
        n = int(rng.choice([2, 4, 8, 16][op == "collective-permute" :]))
        return {
            "op": op,
            "bytes": n * int(rng.integers(100, 5000)),
            "devices": n,
            "times": times or int(rng.integers(2, 9)),
        }

    def cases(rng):
        alone = [
            ([entry(rng, op, 1 + 3 * (op == "all-gather"))],) for op in OPS
        ]
        mixed = [entry(rng, str(op)) for op in rng.permutation(OPS)]
        twice = [entry(rng, op, 1) for op in OPS[:2]]
        return [*alone, (mixed,), (twice,)]

    def oracle(bill):
        total = 0
        for c in bill:
            part = (c["devices"] - 1) / c["devices"]
            share = {"all-reduce": 2 * part, "collective-permute": 1.0}
            total += c["times"] * c["bytes"] * share.get(c["op"], part)
        return round(total)

    check(cases, oracle=oracle, values="bytes")


def test_first_bad(check):
    def history(rng, n, at):
        first = int(rng.integers(10, 90)) * 1000
        part = [rng.uniform(0.92, 1.08) for _ in range(n)]
        table = {i: round(first * p) for i, p in enumerate(part)}
        table[0] = first
        for i in range(at, n):
            table[i] = round(first * rng.uniform(1.85, 2.2))
        said = "is no commit", "another compilation is over the budget"
        return Asked(table, 1 + (n - 1).bit_length(), "bill", *said), n

    def cases(rng):
        drawn = [(n, at) for n in (2, 3) for at in range(1, n)]
        for n in (8, 17, 40):
            drawn += [(n, 1), (n, n - 1), (n, int(rng.integers(2, n - 1)))]
        swings = history(rng, 8, 7)[0]  # a search asks 3, then 5, then 6
        low, high = (round(swings.table[0] * by) for by in (0.92, 1.08))
        swings.table |= {3: low, 5: high, 6: low}
        near = history(rng, 8, 5)[0]  # after a high 3 it asks 5, the first bad
        near.table |= {3: round(near.table[0] * 1.08)}
        near.table |= {5: round(near.table[0] * 1.85)}
        drawn = [history(rng, n, at) for n, at in drawn]
        return [*drawn, (swings, 8), (near, 8)]

    def oracle(bill, n):
        table = bill.table
        return next(i for i in range(n) if table[i] > 1.5 * table[0])

    check(cases, oracle=oracle, values="id")


def test_drifts(check):
    def cases(rng):
        drawn = []
        for size, kind in (
            (4, "same"),
            (8, "one bit"),
            (4, "first"),
            (8, "last"),
            (4, "cancels"),
            (8, "nan"),
            (2, "zero"),
            (4, "middle"),
            (4, "pairs"),
            (8, "each"),
            (4, "in other places"),
        ):
            (size,) = fitting(size)
            devices = rng.permutation(np.array(jax.devices()[:size]))
            mesh = Mesh(devices, ("data",), axis_types=(AxisType.Auto,))
            k = int(rng.integers(6, 30))
            w = np.tile(rng.normal(size=k).astype(np.float32), (size, 1))
            at = int(rng.integers(k))
            if kind == "one bit":
                w[size // 2, at] = np.nextafter(w[0, at], np.float32(9))
            elif kind in ("first", "last", "middle"):
                w[{"first": 0, "last": -1, "middle": size // 2}[kind], at] += (
                    0.5
                )
            elif kind == "pairs":
                w[size // 2 :, at] += 0.5
            elif kind == "each":
                w[:, at] += np.arange(size)
            elif kind == "cancels":
                w[:, at] = 1.0
                w[0, at], w[-1, at] = 1.5, 0.5
            elif kind == "in other places":
                w[-1] = np.roll(w[-1], 1)
            elif kind == "nan":
                w[:, at] = np.nan
            elif kind == "zero":
                w[:, at], w[-1, at] = 0.0, -0.0
            at_rows = NamedSharding(mesh, P("data"))
            drawn.append((jax.device_put(w, at_rows), mesh))
        return drawn

    def oracle(w, mesh):
        bits = np.asarray(w).view(np.int32)
        return np.bool_((bits != bits[0]).any())

    def moved(w, mesh):
        copy = 4 * w.shape[1]
        return Budget(
            {"collective-permute", "all-reduce"},
            copy + sent("all-reduce", 4, mesh.size),
        )

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=moved,
        values="label",
    )


def start(w=1):
    return {"w": float(w), "momentum": 0.0, "step": 0}


def step(state, batch):
    """Momentum on (w - batch)², with a rate that falls after five steps."""
    off = state["w"] - batch
    rate = 0.1 if state["step"] < 5 else 0.01
    state["momentum"] = 0.9 * state["momentum"] + 2 * off
    state["w"] -= rate * state["momentum"]
    state["step"] += 1
    return state, off * off


def step_of_a_copy(state, batch):
    """What it is given stays as it was."""
    return step(dict(state), batch)


def without(name=""):  # a closure that says no more than a text
    def save(state):
        return json.dumps({n: x for n, x in state.items() if n != name})

    return save


def rounded(state):
    return json.dumps({n: round(x, 4) for n, x in state.items()})


def nudged(by):
    return lambda state: json.dumps(state | {"w": state["w"] * (1 + float(by))})


def load(text):
    return start() | json.loads(text)


def test_apart_after_restart(check):
    def cases(rng):
        drawn = []
        for save, at in (
            (without(), 4),
            (without("momentum"), 3),
            (without("step"), 6),
            (without("step"), 2),
            (rounded, 5),
            (without("w"), 4),
            (without(), 3),
            (without("step"), 8),  # only the last loss differs
            (nudged("1e-13"), 4),  # of a large number a small part
            (nudged("1e-6"), 7),  # of a small one a large part
        ):
            batches = [float(x) for x in rng.normal(size=10) * 3]
            if save is rounded:
                batches[at] = batches[at - 1] + 2
            begin = start
            if at == 3:
                batches[at] = batches[0]  # the first ones once more: late seen
            elif len(drawn) > 7:
                scale = 1e-6 if at == 7 else 1e4
                batches = [scale * (3 + x / 10) for x in batches]
                begin = partial(start, scale)
            drawn.append((begin, step, save, load, batches, at))
        batches = [float(x) for x in rng.normal(size=10) * 3]
        lost = without("momentum")
        drawn.append((start, step_of_a_copy, lost, load, batches, 4))
        return drawn

    def oracle(start, step, save, load, batches, at):
        def run(state, batches):
            found = []
            for batch in batches:
                state, loss = step(state, batch)
                found.append(loss)
            return state, np.array(found)

        whole = run(start(), batches)[1]
        kept = save(run(start(), batches[:at])[0])
        rest = run(load(kept), batches[at:])[1]
        off = np.abs(rest / whole[at:] - 1) > 1e-9
        return int(at + off.argmax()) if off.any() else -1

    check(cases, oracle=oracle, values="id")


def test_changed(check):
    def cases(rng):
        drawn = []
        for within in (0.0, 0.1, 0.25):
            size = [int(x) for x in rng.integers(1000, 90000, size=7)]
            before = {
                "sent by all-reduce": size[0],
                "sent by all-gather": size[1],
                "arguments": size[2],
                "temporaries": size[3],
                "FLOPs, f32": size[4],
                "FLOPs, bf16": 0,
            }
            after = {
                "sent by all-reduce": 2 * size[0],
                "arguments": size[2],
                "temporaries": round(size[3] * (1 + 1.1 * within)) + 1,
                "FLOPs, f32": round(size[4] * (1 - 0.9 * within)),
                "sent by reduce-scatter": 0,
                "sent by all-to-all": size[5],
            }
            drawn.append((before, after, within))
            drawn.append((after, before, within))
        return drawn

    def oracle(before, after, within):
        names = sorted({*before, *after})
        pairs = {n: (before.get(n, 0), after.get(n, 0)) for n in names}
        return {
            n: (a, b)
            for n, (a, b) in pairs.items()
            if not a * (1 - within) <= b <= a * (1 + within)
        }

    check(cases, oracle=oracle, values="count")
