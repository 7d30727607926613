"""The checks of ch21_experts; the oracles compute in NumPy, in float64."""

import jax
import numpy as np

from grader import Budget, array, drawn_mesh, fitting, normal, place, sent


def chosen(rng, tokens, experts, hot, k=2):
    """int32[tokens, k]: experts drawn without repetition, some more often."""
    liked = np.exp(hot * rng.normal(size=experts))
    keys = np.log(liked) + rng.gumbel(size=(tokens, experts))
    return np.argsort(-keys, axis=1)[:, :k].astype(np.int32)


def gates(rng, tokens, k, steps=16):
    """float32[tokens, k]: few different values, so that some are equal."""
    return array(rng.integers(1, steps, size=(tokens, k)) / steps)


def places(who, gate, experts):
    before, so_far = np.zeros(who.shape, np.int32), [0] * experts
    line = [(-gate[t, c], c, t) for t, c in np.ndindex(who.shape)]
    for _, c, t in sorted(line):
        before[t, c] = so_far[who[t, c]]
        so_far[who[t, c]] += 1
    return before


def test_queue(check):
    def cases(rng):
        shapes = (96, 2, 64, 1.0), (200, 3, 128, 0.3), (40, 1, 96, 2.0)
        drawn = []
        for t, k, e, hot in shapes:
            who = jax.device_put(chosen(rng, t, e, hot, k))
            drawn.append((who, gates(rng, t, k), e))
        return drawn

    def oracle(who, gate, experts):
        return places(np.asarray(who), np.asarray(gate), experts)

    def budget(who, gate, experts):
        return Budget(set(), 0, temporary=64 * (who.size + experts))

    check(cases, oracle=oracle, how="jit", budget=budget, values="count")


def test_moe(check):
    def cases(rng):
        drawn = []
        for size, tokens, each, d, capacity, hot in (
            (4, 12, 2, 6, 3, 1.0),
            (8, 9, 1, 5, 4, 0.3),
            (2, 10, 3, 4, 2, 1.5),
        ):
            (size,) = fitting(size)
            m, experts = drawn_mesh(rng, size, "e"), max(size * each, 2)
            total = size * tokens
            gate = gates(rng, total, 2)
            who = chosen(rng, total, experts, hot)
            who[: tokens - 1, 0] = rng.integers(2, size=tokens - 1)
            who[: tokens - 1, 1] = 1 - who[: tokens - 1, 0]
            given = normal(rng, total, d), gate, jax.device_put(who)
            w = normal(rng, experts, d, d)
            drawn.append(
                (*(place(a, m, "e") for a in (*given, w)), capacity, m)
            )
        return drawn

    def oracle(x, gate, who, w, capacity, mesh):
        x, gate, w = (np.asarray(a, np.float64) for a in (x, gate, w))
        who, y = np.asarray(who), x.copy()
        tokens = len(x) // mesh.size
        for low in range(0, len(x), tokens):
            mine = slice(low, low + tokens)
            before = places(who[mine], gate[mine], len(w))
            for t, c in np.argwhere(before < capacity):
                i = low + t
                y[i] += gate[i, c] * (x[i] @ w[who[i, c]])
        return y

    def budget(x, gate, who, w, capacity, mesh):
        box = 4 * w.shape[0] * capacity * x.shape[1]
        return Budget({"all-to-all"}, 2 * sent("all-to-all", box, mesh.size))

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


def test_balance_loss(check):
    def cases(rng):
        drawn = []
        for size, tokens, experts, k in (
            (4, 6, 8, 2),
            (8, 5, 12, 1),
            (2, 9, 6, 3),
        ):
            (size,) = fitting(size)
            m = drawn_mesh(rng, size, "e")
            home = np.repeat(np.arange(size), tokens)[:, None]
            near = (np.arange(experts) % size == home) * 2.0
            logits = rng.normal(size=(size * tokens, experts)) + near
            p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
            who = np.argsort(-p, axis=1)[:, :k].astype(np.int32)
            full = rng.integers(1, tokens, size=size)  # of each device
            full[0] = tokens  # the last ones are padding, of 8 all of one's
            full[-1] = tokens // 2 if size < 8 else 0
            real = np.tile(np.arange(tokens), size) < np.repeat(full, tokens)
            given = array(p), jax.device_put(who), jax.device_put(real)
            drawn.append((*(place(a, m, "e") for a in given), m))
        return drawn

    def oracle(p, who, real, mesh):
        p, who = np.asarray(p, np.float64)[real], np.asarray(who)[real]
        n = p.shape[1]
        f = np.bincount(who.reshape(-1), minlength=n) / who.size
        return np.float64(n * (f @ p.mean(0)))

    def budget(p, who, real, mesh):
        numbers = 2 * p.shape[1] + 2
        return Budget(
            {"all-reduce"}, sent("all-reduce", 4 * numbers, mesh.size)
        )

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


def test_capacity_for(check):
    def cases(rng):
        drawn = []
        for devices, tokens, experts, k, hot, most in (
            (4, 50, 8, 2, 0.8, 0.011),
            (8, 32, 16, 2, 0.3, 0.051),
            (2, 64, 4, 1, 1.5, 0.0),
            (4, 8, 32, 2, 0.1, 0.53),
            (4, 40, 8, 2, 2.0, 0.101),
        ):
            who = chosen(rng, devices * tokens, experts, hot, k)
            drawn.append((who, experts, devices, most))
        # 4 of 32 choices are too many with 4 places: exactly an eighth.
        even = np.tile(np.arange(4), 8).reshape(16, 2)
        even[0], even[1], even[8], even[9] = (0, 2), (0, 2), (0, 2), (0, 2)
        drawn.append((even.astype(np.int32), 4, 2, 0.125))
        # One device has all of one expert, the others none of it.
        alone = np.repeat(np.arange(4), 16).reshape(32, 2)
        alone[:8] = 0, 1
        drawn.append((alone.astype(np.int32), 4, 4, 0.3))
        drawn.append((alone.astype(np.int32), 4, 4, 1.0))  # all: at least 1
        return drawn

    def oracle(who, experts, devices, most):
        queues = [
            int((mine == e).sum())
            for mine in np.split(who, devices)
            for e in range(experts)
        ]
        return next(
            c
            for c in range(1, who.size + 1)
            if sum(max(0, n - c) for n in queues) / who.size <= most
        )

    check(cases, oracle=oracle, values="count")


def test_ragged_offsets(check):
    def cases(rng):
        drawn = []
        for n in (4, 3, 8, 2):
            table = rng.integers(0, 9, (n, n))
            table[0, 1] = table[1, 0] + 3
            rows = [[int(c) for c in row] for row in table]
            half = int(table.sum(0).mean()) // 2 + 1
            for me in {int(rng.integers(1, n)), n - 1}:
                drawn.append((rows, half + 2, me))
            drawn.append((rows, 9 * n, 1))  # nobody becomes full
            drawn.append((rows, half, 0))
        return drawn

    def oracle(sent, bound, me):
        n = len(sent)
        taken = np.zeros((n, n), int)
        begin = np.zeros((n, n), int)
        for j in range(n):
            lying = 0
            for i in range(n):
                begin[i, j] = lying
                taken[i, j] = min(sent[i][j], bound - lying)
                lying += taken[i, j]
        here = np.cumsum(sent, axis=1) - np.array(sent)
        return tuple(
            [int(c) for c in part]
            for part in (here[me], taken[me], begin[me], taken[:, me])
        )

    check(cases, oracle=oracle, values=("index", "count", "index", "count"))
