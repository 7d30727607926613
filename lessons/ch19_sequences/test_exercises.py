"""The checks of ch19_sequences; the oracles compute in float64."""

import numpy as np

from grader import (
    Budget,
    array,
    drawn_mesh,
    fitting,
    float64,
    normal,
    place,
    sent,
)


def attention(q, k, v, window):
    """In float64: q [b, T, h, d]; k, v [b, T, g, d]."""
    q, k, v = float64(q, k, v)
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    scores = np.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5
    far = np.arange(q.shape[1])[:, None] - np.arange(q.shape[1])
    scores = np.where((far >= 0) & (far < window), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", weights, v)


def test_merge_parts(check):
    def cases(rng):
        drawn = []
        for n, i, d, high in ((3, 5, 4, 2.0), (8, 7, 3, 1000.0), (2, 6, 2, 0)):
            tops = rng.normal(size=(n, i)) * high
            values, totals = rng.normal(size=(n, i, d)), 1 + rng.random((n, i))
            totals[rng.random((n, i)) < 0.3] = 1  # who sees one key alone
            seen = rng.random((n, i)) < 0.6
            if n == 8:  # some query sees none of the first parts
                seen[:2, 0] = seen[0, 1] = False
                tops[:, 1] = -200 - np.abs(tops[:, 1])  # and has low scores
            seen[-1] |= ~seen.any(axis=0)
            tops, totals = np.where(seen, tops, -np.inf), totals * seen
            drawn.append(
                (array(values * seen[..., None]), array(tops), array(totals))
            )
        return drawn

    def oracle(values, tops, totals):
        values, tops, totals = float64(values, tops, totals)
        scale = np.exp(tops - tops.max(axis=0))
        whole = np.einsum("nid,ni->id", values, scale)
        return whole / (totals * scale).sum(axis=0)[:, None]

    check(cases, oracle=oracle)


def test_window_attention(check):
    def cases(rng):
        drawn = []
        for size, t, b, h, window in (
            (8, 64, 1, 2, 64 * 5 + 2 + int(rng.integers(60))),
            (8, 12, 2, 3, 2 + int(rng.integers(11))),
            (4, 16, 1, 2, 17),
            (4, 8, 2, 1, 40),
        ):
            (size,) = fitting(size)
            m = drawn_mesh(rng, size, "s")
            q, k, v = (normal(rng, b, t * size, h, 8) for _ in range(3))
            arrays = [place(x, m, None, "s") for x in (q, k, v)]
            drawn.append((*arrays, window, m))
        return drawn

    def oracle(q, k, v, window, mesh):
        return attention(q, k, v, window)

    def budget(q, k, v, window, mesh):
        b, length, h, d = k.shape
        n, t = mesh.size, length // mesh.size
        back, block = min(-(-(window - 1) // t), n - 1), 4 * b * t * h * d
        return Budget(
            {"collective-permute"},
            2 * back * block,
            temporary=12 * 4 * b * h * t * t + 24 * block,
            work=True,
        )

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
        work=True,
    )


def test_ulysses_grouped(check):
    def cases(rng):
        drawn = []
        for size, g, h, t, b in (
            (8, 2, 16, 4, 1),
            (4, 2, 8, 5, 2),
            (4, 1, 4, 3, 1),
        ):
            (size,) = fitting(size)
            m = drawn_mesh(rng, size, "s")
            q = normal(rng, b, t * size, h, 8)
            k, v = (normal(rng, b, t * size, g, 8) for _ in range(2))
            drawn.append((*(place(x, m, None, "s") for x in (q, k, v)), m))
        return drawn

    def oracle(q, k, v, mesh):
        return attention(q, k, v, q.shape[1])

    def budget(q, k, v, mesh):
        n, g = mesh.size, k.shape[2]
        moved = (2 * q.nbytes + 2 * k.nbytes * n // g) // n
        return Budget({"all-to-all"}, sent("all-to-all", moved, n))

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


def test_rotary(check):
    def cases(rng):
        drawn = []
        for size, half, d in ((4, 3, 6), (8, 2, 4)):
            (size,) = fitting(size)
            m = drawn_mesh(rng, size, "s")
            drawn.append((place(normal(rng, 2 * size * half, d), m, "s"), m))
        return drawn

    def oracle(x, mesh):
        (x,) = float64(x)
        n, pairs = mesh.size, x.shape[1] // 2
        chunks = np.split(np.arange(len(x)), 2 * n)
        mine = [[chunks[i], chunks[2 * n - 1 - i]] for i in range(n)]
        at = np.concatenate([c for two in mine for c in two])
        angle = at[:, None] * 10000.0 ** (-2 * np.arange(pairs) / (2 * pairs))
        turned = (x[:, :pairs] + 1j * x[:, pairs:]) * np.exp(1j * angle)
        return np.concatenate([turned.real, turned.imag], axis=1)

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=Budget(set(), 0),
    )


def test_cheapest_way(check):
    def cases(rng):
        shapes = [  # the ring, for it sends less, or Ulysses cannot; Ulysses
            (64, 8, 8), (128, 8, 4), (8, 4, 8), (16, 4, 3), (8, 8, 2),
            (24, 8, 4), (16, 16, 16), (8, 8, 8), (32, 8, 8), (12, 6, 6),
            (12, 12, 8),
        ]  # fmt: skip
        return [
            (heads, groups, n * int(rng.integers(100, 1000)) * 4, n)
            for heads, groups, n in (shapes[i] for i in rng.permutation(11))
        ]

    def oracle(heads, groups, block, n):
        sizes = {"q": block * heads // groups, "k": block, "v": block}
        turns = np.full(n - 1, 2 * block)  # in each k and v go on
        found = {"ring": int(turns.sum())}
        if groups % n == 0:  # a device keeps one piece of n of each array
            arrays = [*sizes.values(), sizes["q"]]
            found["ulysses"] = sum(a - a // n for a in arrays)
        return min(found.items(), key=lambda item: item[1])

    check(cases, oracle=oracle, values=("label", "bytes"))
