"""Write counts of things and lists of their numbers."""


def counted(n: float, noun: str) -> str:
    """Format a count: `1 device`, `2,000 devices`, `3 processes`."""
    return f"{n:,} {noun if n == 1 else _plural(noun)}"


def numbered(noun: str, numbers: list[int]) -> str:
    """Name things by their ascending numbers: `process 1`, `processes 0, 2–5`."""
    return f"{noun if len(numbers) == 1 else _plural(noun)} {ranges(numbers)}"


def ranges(numbers: list[int]) -> str:
    """Format ascending numbers as ranges: `0, 2–5` for [0, 2, 3, 4, 5]."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}–{b}" if b > a + 1 else f"{a}, {b}" for a, b in runs)


def _plural(noun: str) -> str:
    return noun + ("es" if noun.endswith("s") else "s")
