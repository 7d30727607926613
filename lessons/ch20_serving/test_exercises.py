"""The checks of ch20_serving; the oracles compute in float64."""

import jax.numpy as jnp
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


def attention(q, k, v, filled):
    """In float64, of one token: q [b, h, d]; k, v [b, T, g, d]."""
    q, k, v = float64(q, k, v)
    k, v = (np.repeat(x, q.shape[1] // x.shape[2], axis=2) for x in (k, v))
    scores = np.einsum("bhd,bthd->bht", q, k) * q.shape[-1] ** -0.5
    scores[..., int(filled) :] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.einsum("bht,bthd->bhd", weights, v)


def test_attend_cut(check):
    def cases(rng):
        drawn = []
        for size, room, b, h, high, part in (
            (4, 6, 2, 3, 2.0, 0.9),
            (8, 5, 1, 2, 400.0, 0.6),
            (2, 7, 3, 1, 1.0, 0.3),
        ):
            (size,) = fitting(size)
            m, length = drawn_mesh(rng, size, "s"), size * room
            q = place(normal(rng, b, h, 8) * high, m)
            k, v = (normal(rng, b, length, h, 8) for _ in range(2))
            filled = int(part * length) - int(rng.integers(2))
            k, v = (place(x, m, None, "s") for x in (k, v))
            drawn.append((q, k, v, place(np.int32(filled), m), m))
        return drawn

    def oracle(q, k, v, filled, mesh):
        return attention(q, k, v, filled)

    def budget(q, k, v, filled, mesh):
        b, h, d = q.shape
        return Budget(
            {"all-reduce"}, sent("all-reduce", 4 * b * h * (d + 2), mesh.size)
        )

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


def test_write_token(check):
    def cases(rng):
        drawn = []
        for size, room, h, where in (
            (4, 3, 2, 1),
            (8, 2, 1, 5),
            (4, 4, 3, 3),
            (2, 5, 2, 0),
        ):
            (size,) = fitting(size)
            m = drawn_mesh(rng, size, "s")
            at = (where % size) * room + int(rng.integers(room))
            cache = place(normal(rng, size * room, h, 4), m, "s")
            new = place(normal(rng, h, 4), m)
            drawn.append((cache, new, place(np.int32(at), m), m))
        return drawn

    def oracle(cache, new, at, mesh):
        cache, new = float64(cache, new)
        cache = cache.copy()
        cache[int(at)] = new
        return cache

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=Budget(set(), 0),
    )


def test_decode_step(check):
    def cases(rng):
        drawn = []
        for size, g, h, length, b, wide in (
            (4, 4, 8, 7, 2, 12),
            (2, 4, 12, 9, 3, 10),
            (4, 8, 16, 6, 1, 8),
        ):
            (size,) = fitting(size)
            m, d = drawn_mesh(rng, size, "h"), 4
            at = int(rng.integers(2, length - 1))
            w = {
                name: place(normal(rng, wide, heads, d), m, None, "h")
                for name, heads in (("q", h), ("k", g), ("v", g))
            }
            w["o"] = place(normal(rng, h, d, wide), m, "h")
            k, v = (normal(rng, b, length, g, d) for _ in range(2))
            seen = np.arange(length)[:, None, None] < at
            k, v = (place(x * seen, m, None, None, "h") for x in (k, v))
            x = place(normal(rng, b, wide), m)
            drawn.append((x, w, k, v, place(np.int32(at), m), m))
        return drawn

    def oracle(x, w, k, v, at, mesh):
        x, k, v = float64(x, k, v)
        w = {name: np.asarray(a, np.float64) for name, a in w.items()}
        q, new_k, new_v = (np.tensordot(x, w[name], 1) for name in "qkv")
        k, v = k.copy(), v.copy()
        k[:, int(at)], v[:, int(at)] = new_k, new_v
        out = attention(q, k, v, int(at) + 1)
        return np.tensordot(out, w["o"], 2), k, v

    def budget(x, w, k, v, at, mesh):
        return Budget(
            {"all-reduce"}, sent("all-reduce", x.nbytes, mesh.size), single=True
        )

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


def test_attend_int8(check):
    def cases(rng):
        drawn = []
        for length, g, h, d in ((9, 2, 6, 8), (14, 1, 4, 5), (6, 3, 3, 16)):
            k, v = (rng.integers(-127, 128, (length, g, d)) for _ in range(2))
            scales = (
                array(np.exp(rng.normal(size=(length, g))) / 60)
                for _ in range(2)
            )
            k_scale, v_scale = scales
            q = array(rng.normal(size=(h, d)))
            k, v = (jnp.asarray(x, jnp.int8) for x in (k, v))
            drawn.append((q, k, k_scale, v, v_scale))
        return drawn

    def oracle(q, k, k_scale, v, v_scale):
        q, k, k_scale, v, v_scale = float64(q, k, k_scale, v, v_scale)
        k, v = (k * k_scale[..., None])[None], (v * v_scale[..., None])[None]
        return attention(q[None], k, v, len(k[0]))[0]

    check(cases, oracle=oracle)


def test_step_bytes(check):
    def cases(rng):
        shapes = [  # heads, devices, rest
            (8, 16, "copies"), (8, 16, "batch"), (8, 4, "copies"),
            (6, 4, "sequence"), (6, 4, "copies"), (8, 64, "copies"),
            (1, 8, "sequence"), (3, 8, "copies"), (6, 16, "copies"),
        ]  # fmt: skip
        drawn = []
        for i in rng.permutation(len(shapes)):
            heads, n, rest = shapes[i]
            weights = n * int(rng.integers(1000, 9000))
            position = heads * n * int(rng.integers(10, 90))
            batch = n * int(rng.integers(1, 9))
            length = n * int(rng.integers(20, 90))
            drawn.append((weights, position, heads, batch, length, n, rest))
        return drawn

    def oracle(weights, position, heads, batch, length, n, rest):
        held = max(m for m in range(1, n + 1) if heads % m == n % m == 0)
        whole = position * batch * length
        of_cache = whole // held if rest == "copies" else whole // n
        return weights // n + of_cache

    check(cases, oracle=oracle, values="bytes")
