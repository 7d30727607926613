"""The checks of ch12_pitfalls: the first four run in two processes, their oracle
is NumPy on everybody's numbers; the last two read what other processes left."""

import jax
import numpy as np
import pytest

two = pytest.mark.processes(2, devices=2)


def mine(everybody):
    return everybody[jax.process_index()]


class Name(str):
    """A name whose place in a set differs from process to process, as it does
    with a hash seed for each; forked processes have one in common."""

    def __hash__(self):
        return hash((jax.process_index(), str(self)))


@two
def test_sum_by_name(check):
    everybody = []

    def cases(rng):
        drawn = []
        for names, n in (("w1 w2 bias", 3), ("up down left right scale", 2)):
            names = [Name(name) for name in names.split()]
            orders = [rng.permutation(len(names)) for _ in range(2)]
            while any(orders[0] == orders[1]):  # no name meets itself
                orders[1] = rng.permutation(len(names))
            drawn.append(
                [
                    {
                        names[k]: rng.normal(size=n).astype(np.float32)
                        for k in order
                    }
                    for order in orders
                ]
            )
        everybody.extend(drawn)
        return [(mine(parts),) for parts in drawn]

    def oracle(own):
        (parts,) = (p for p in everybody if mine(p).keys() == own.keys())
        return {name: parts[0][name] + parts[1][name] for name in own}

    check(cases, oracle=oracle)


@two
def test_padded_sum(check):
    everybody = []

    def cases(rng):
        for rows, widths in ((2, (8, 16)), (3, (5, 3)), (1, (4, 4))):
            everybody.append(
                [rng.normal(size=(rows, n)).astype(np.float32) for n in widths]
            )
        return [(mine(parts),) for parts in everybody]

    def oracle(own):
        (parts,) = (p for p in everybody if mine(p) is own)
        total = np.zeros(max(p.shape[1] for p in parts), np.float32)
        for part in parts:
            total[: part.shape[1]] += part.sum(axis=0)
        return total

    check(cases, oracle=oracle)


@two
def test_mean_of_batches(check):
    everybody = []

    def cases(rng):
        for n, counts in ((4, (3, 2)), (3, (1, 4)), (2, (2, 0))):
            everybody.append(
                [
                    [
                        rng.normal(size=n).astype(np.float32) + 3 * p + k
                        for k in range(count)
                    ]
                    for p, count in enumerate(counts)
                ]
            )
        return [(mine(parts),) for parts in everybody]

    def oracle(own):
        (parts,) = (p for p in everybody if mine(p) is own)
        return float(np.mean([batch for part in parts for batch in part]))

    check(cases, oracle=oracle)


@two
def test_steps_until_good(check):
    everybody = []

    def cases(rng):
        near = np.linspace(1.0, 0.0, 7, dtype=np.float32)
        for slow in (1.6, 0.5, 9.0):  # process 1 is slower, faster, never there
            both = np.stack([near, near * np.float32(slow)])
            both += rng.uniform(0, 0.01, both.shape).astype(np.float32)
            both[:, -1] += np.float32(slow > 5)
            everybody.append(both)
        return [(mine(both), 0.4) for both in everybody]

    def oracle(own, goal):
        (both,) = (b for b in everybody if np.array_equal(mine(b), own))
        below = np.flatnonzero(both.mean(axis=0) < goal)
        return int(below[0]) + 1 if below.size else len(own)

    check(cases, oracle=oracle)
