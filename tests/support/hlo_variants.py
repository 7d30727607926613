"""Recorded programs written otherwise, by machine: what they send stays the same."""

import random
import re
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


def recordings() -> dict[str, str]:
    """Every recorded program's text by its name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(DATA.glob("*.hlo"))}


_TOKEN = re.compile(r"%?[\w.-]+|[^\w\s]")


def damaged(text: str, random: random.Random) -> str:
    """`text` with one or two things in it changed, as a compiler not seen before or a bad copy might have it."""
    for _ in range(random.choice((1, 1, 2))):
        lines = text.splitlines()
        i, j = (random.randrange(len(lines)) for _ in range(2))
        one, other = (random.choice(list(_TOKEN.finditer(text))) for _ in range(2))
        match random.randrange(6):
            case 0:  # a line is missing
                del lines[i]
            case 1:  # two lines have changed places
                lines[i], lines[j] = lines[j], lines[i]
            case 2:  # the end of a line is missing
                lines[i] = lines[i][: random.randrange(len(lines[i]) + 1)]
            case 3:  # a word is missing
                lines = (text[: one.start()] + text[one.end() :]).splitlines()
            case 4:  # a word is another
                lines = (text[: one.start()] + other[0] + text[one.end() :]).splitlines()
            case 5:  # a number is another
                n = random.choice(list(re.finditer(r"\d+", text)))
                number = random.choice(("0", "1", "3", "7", "64", "1000000", "-1", "x"))
                lines = (text[: n.start()] + number + text[n.end() :]).splitlines()
        text = "\n".join(lines) + "\n" if lines else "\n"
    return text
