"""Spans of time against a count of moments."""

from random import Random

import pytest

from minipod.profiles import spans


def drawn(random: Random, count: int) -> list[tuple[float, float]]:
    starts = [random.randrange(40) for _ in range(count)]
    return [(float(a), float(a + random.randrange(9))) for a in starts]


def moments(given: list[tuple[float, float]]) -> set[float]:
    return {t + 0.5 for a, b in given for t in range(int(a), int(b))}


@pytest.mark.parametrize("seed", range(40))
def test_union_difference_and_part_hold_the_same_moments_and_do_not_overlap(seed):
    random = Random(seed)
    one, two = drawn(random, seed % 8), drawn(random, seed % 5)
    wanted = {
        "union": (spans.union(one), moments(one)),
        "without": (spans.without(one, two), moments(one) - moments(two)),
        "within": (spans.within(one, (7.0, 23.0)), {t for t in moments(one) if 7 < t < 23}),
    }
    for name, (found, expected) in wanted.items():
        assert moments(found) == expected, name
        assert spans.seconds(found) == len(expected), name
        assert all(a[1] < b[0] or name == "without" and a[1] <= b[0] for a, b in zip(found, found[1:], strict=False))
