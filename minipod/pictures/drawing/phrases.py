"""Words for pictures: lists of devices and lists of phrases, short and readable aloud."""

from collections.abc import Sequence


def runs(ids: Sequence[int]) -> list[str]:
    """`[0, 1, 2, 3, 8]` → `["0–3", "8"]`: consecutive numbers, three or more, become a range."""
    found: list[list[int]] = []
    for i in ids:
        if found and i == found[-1][-1] + 1:
            found[-1].append(i)
        else:
            found.append([i])
    return [p for run in found for p in ([f"{run[0]}–{run[-1]}"] if len(run) > 2 else [str(i) for i in run])]


def numbers(noun: str, ids: Sequence[int], most: int = 6) -> str:
    """`device 3`, `devices 0, 1`, `devices 0–3`; after `most` parts the rest is `…`."""
    parts = runs(ids)
    plural = "s" * (len(ids) != 1)
    return f"{noun}{plural} " + ", ".join(parts if len(parts) <= most else [*parts[: most - 2], "…", parts[-1]])


def join(phrases: Sequence[str], most: int = 8) -> str:
    """Phrases separated by semicolons; after `most` the rest is `…`."""
    kept = list(phrases) if len(phrases) <= most else [*phrases[: most - 2], "…", phrases[-1]]
    return "; ".join(kept)


def few(count: int, most: int) -> list[int | None]:
    """`range(count)`, or its first ones, None for those left out, and the last."""
    return list(range(count)) if count <= most else [*range(most - 2), None, count - 1]
