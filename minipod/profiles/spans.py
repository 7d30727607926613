"""Join, cut and subtract spans of time; results are sorted and do not touch."""

from collections.abc import Iterable

from minipod.profiles.events import Span


def union(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        elif end > start:
            joined.append((start, end))
    return joined


def without(spans: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """Return the parts of `spans` that lie in none of `others`."""
    left, rest, first = list[Span](), union(others), 0
    for start, end in union(spans):
        while first < len(rest) and rest[first][1] <= start:
            first += 1
        at = first
        while at < len(rest) and rest[at][0] < end:
            if rest[at][0] > start:
                left.append((start, rest[at][0]))
            start, at = max(start, rest[at][1]), at + 1
        if start < end:
            left.append((start, end))
    return left


def within(spans: Iterable[Span], window: Span) -> list[Span]:
    return union((max(s, window[0]), min(e, window[1])) for s, e in spans)


def seconds(spans: Iterable[Span]) -> float:
    return sum(end - start for start, end in spans)
