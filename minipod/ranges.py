"""Write lists of process numbers briefly."""


def ranges(numbers: list[int]) -> str:
    """Format ascending numbers as ranges: `0, 2–5` for [0, 2, 3, 4, 5]."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}–{b}" if b > a + 1 else f"{a}, {b}" for a, b in runs)
