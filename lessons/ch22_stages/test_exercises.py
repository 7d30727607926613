"""The checks of ch22_stages; the oracles compute in NumPy, in float64."""

import numpy as np

from grader import Budget, drawn_mesh, fitting, normal, place, sent


def lists(stages, microbatches):
    """Of each stage: so many forward first, then one of each in turn."""
    orders = []
    for s in range(stages):
        early = min(stages - 1 - s, microbatches)
        mine = [("F", m) for m in range(early)]
        for m in range(microbatches):
            if m + early < microbatches:
                mine.append(("F", m + early))
            mine.append(("B", m))
        orders.append(mine)
    return orders


def run(orders):
    """Each does the next of its list as soon as it can."""
    stages, done, rows = len(orders), set(), []
    left = [list(mine) for mine in orders]

    def ready(s, kind, m):
        if kind == "F":
            return s == 0 or ("F", m, s - 1) in done
        return s == stages - 1 or ("B", m, s + 1) in done

    while any(left):
        now = {
            s: mine.pop(0)
            for s, mine in enumerate(left)
            if mine and ready(s, *mine[0])
        }
        done |= {(*op, s) for s, op in now.items()}
        rows.append(
            [
                f"{now[s][0]}{now[s][1]}" if s in now else ""
                for s in range(stages)
            ]
        )
    return rows


def test_one_f_one_b(check):
    def cases(rng):
        drawn = [(2, 3), (4, 2), (1, 3)]
        for stages in (3, 4, 5):
            drawn.append((stages, stages + int(rng.integers(1, 5))))
        return drawn

    def oracle(stages, microbatches):
        return run(lists(stages, microbatches))

    check(cases, oracle=oracle, values="label")


def test_slots(check):
    def cases(rng):
        drawn = []
        for stages in (4, 3):
            drawn.append((run(lists(stages, int(rng.integers(6, 10)))),))
        every = range(4)
        gpipe = [[(k, m) for k in "FB" for m in every] for _ in range(3)]
        drawn.append((run(gpipe),))
        # Backward in another order than forward: slots become free unevenly
        for _ in range(3):
            lane, kept, left = [], [], list(range(8))
            while left or kept:
                if left and (not kept or rng.integers(2)):
                    kept.append(left.pop(0))
                    lane.append(f"F{kept[-1]}")
                else:
                    lane.append(f"B{kept.pop(int(rng.integers(len(kept))))}")
                if rng.integers(5) == 0:
                    lane.append("")
            drawn.append(([[what] for what in lane],))
        for lane in (
            "F0 F1 F2 B1 F3 B0 B2 F4 F5 B3 B5 B4",
            "F0 F1 F2 B0 B1 F3 F4 B2 B3 F5 B4 B5",  # two are free at once
            "F1 F0 F3 B1 F2 B0 B3 B2",  # forward, too, in another order
        ):
            drawn.append(([[what] for what in lane.split()],))
        return drawn

    def oracle(rows):
        found = []
        for lane in zip(*rows, strict=True):
            slots, where = [], {}
            for what in lane:
                if what[:1] == "F":
                    free = [i for i, m in enumerate(slots) if m is None]
                    where[int(what[1:])] = free[0] if free else len(slots)
                    if not free:
                        slots.append(None)
                    slots[where[int(what[1:])]] = int(what[1:])
                elif what:
                    slots[slots.index(int(what[1:]))] = None
            found.append([where[m] for m in sorted(where)])
        return found

    check(cases, oracle=oracle, values="index")


def test_one_step(check):
    def cases(rng):
        drawn = []
        for stages, microbatches, way in (
            (3, 5, "1f1b"),
            (2, 4, "gpipe"),
            (3, 4, "back to front"),
            (4, 6, "1f1b"),
        ):
            every = range(microbatches)
            if way == "1f1b":
                orders = lists(stages, microbatches)
            else:
                back = every if way == "gpipe" else reversed(every)
                one = [("F", m) for m in every] + [("B", m) for m in back]
                orders = [one] * stages
            orders = [[f"{k}{m}" for k, m in mine] for mine in orders]
            d = 4
            w = [normal(rng, d, d) for _ in range(stages)]
            x, y = (normal(rng, microbatches, 3, d) for _ in range(2))
            rate = float(rng.uniform(0.5, 2.0))
            drawn.append((orders, w, x, y, rate))
        return drawn

    def oracle(orders, w, x, y, rate):
        w = [np.asarray(a, np.float64) for a in w]
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        outs = [x]
        for a in w:
            outs.append(np.tanh(outs[-1] @ a))
        slope, new = 2 * (outs[-1] - y) / y.size, list(w)
        for s in reversed(range(len(w))):
            back = slope * (1 - outs[s + 1] ** 2)
            new[s] = w[s] - rate * np.einsum("mri,mrj->ij", outs[s], back)
            slope = back @ w[s].T
        most = []
        for mine in orders:
            kept = np.cumsum([1 if what[0] == "F" else -1 for what in mine])
            most.append(int(kept.max()))
        return new, most

    check(cases, oracle=oracle, tolerance=1e-4, values=("data", "count"))


def test_pipelined(check):
    def cases(rng):
        drawn = []
        for size, microbatches, rows, d, h, k in (
            (4, 6, 8, 8, 32, 3),
            (2, 5, 16, 6, 24, 4),
            (8, 9, 8, 8, 32, 2),
        ):
            (size,) = fitting(size)
            m = drawn_mesh(rng, size, "stage")
            w = {
                "up": place(normal(rng, size, d, h) / d**0.5, m, "stage"),
                "down": place(normal(rng, size, h, d) / h**0.5, m, "stage"),
            }
            head = place(normal(rng, d, k), m)
            x = place(normal(rng, microbatches, rows, d), m)
            y = place(normal(rng, microbatches, rows, k), m)
            drawn.append((w, head, x, y, m))
        return drawn

    def oracle(w, head, x, y, mesh):
        head, x, y = (np.asarray(a, np.float64) for a in (head, x, y))
        up, down = (np.asarray(w[n], np.float64) for n in ("up", "down"))
        kept, a = [], x
        for i in range(len(up)):
            inner = np.tanh(a @ up[i])
            kept.append((a, inner))
            a = a + inner @ down[i]
        off = a @ head - y
        slope = 2 * off / off.size
        dhead = np.einsum("mrd,mrk->dk", a, slope)
        da, dup, ddown = slope @ head.T, np.zeros_like(up), np.zeros_like(down)
        for i in reversed(range(len(up))):
            a, inner = kept[i]
            ddown[i] = np.einsum("mrh,mrd->hd", inner, da)
            back = (da @ down[i].T) * (1 - inner**2)
            dup[i] = np.einsum("mrd,mrh->dh", a, back)
            da = da + back @ up[i].T
        return np.float64(np.mean(off**2)), {"up": dup, "down": ddown}, dhead

    def budget(w, head, x, y, mesh):
        n, ticks = mesh.size, len(x) + mesh.size - 1
        moves = 2 * ticks * x[0].nbytes if n > 1 else 0
        sums = sent("all-reduce", head.nbytes + 2 * 4, n)
        hidden = w["up"].shape[2] // x.shape[2] * x[0].nbytes
        fixed = 3 * (head.nbytes + 2 * w["up"].nbytes // n)
        room = (ticks + 10) * x[0].nbytes + 6 * hidden + fixed + 8192
        allowed = {"collective-permute", "all-reduce"}
        return Budget(allowed, moves + sums, temporary=room)

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


def test_shared_gradient(check):
    def cases(rng):
        drawn = []
        for size, v, d in ((4, 10, 3), (2, 6, 4), (8, 5, 2)):
            (size,) = fitting(size)
            m, g = (
                drawn_mesh(rng, size, "stage"),
                np.array(normal(rng, size, v, d)),
            )
            if size == 4:
                g[2] = np.nan
            drawn.append((place(g, m, "stage"), m))
        return drawn

    def oracle(g, mesh):
        g = np.asarray(g, np.float64)
        total = np.zeros_like(g)
        total[0] = total[-1] = g[0] + g[-1]
        return total

    def budget(g, mesh):
        return Budget({"collective-permute"}, 2 * g.nbytes // mesh.size)

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


def test_bytes_across(check):
    def cases(rng):
        drawn = [([0, 0, 1, 1], 1), ([0, 1, 0, 1], 1), ([0, 0, 1, 1], 2)]
        drawn += [
            ([0, 0, 1, 1, 2, 2], 3),
            ([0, 0, 0, 1], 2),
            ([2, 0, 1], 1),
            ([0, 1, 2], 2),
        ]
        return [
            (
                hosts,
                v,
                int(rng.integers(3, 20)),
                int(rng.integers(1, 99)) * 1024,
            )
            for hosts, v in drawn
        ]

    def oracle(hosts, chunks, microbatches, message):
        places, n = hosts * chunks, max(hosts) + 1
        over = np.zeros((n, n), int)
        for a, b in zip(places, places[1:], strict=False):
            over[a, b] += a != b
        return ((over + over.T) * microbatches * message).tolist()

    check(cases, oracle=oracle, values="bytes")
