"""Shorten an error to its helpful parts: its beginning, and the decisive lines below."""

import re

from grader.say.shown import shortened

# What says which axis, argument or size is meant; JAX puts it below, among general advice.
DECIDES = re.compile(r"\b(ax[ei]s|dimension|argument|operand|shape|size|spec|sharding|type|refers|replicated)s?\b")
FACT = re.compile(r"\d|[`'\"]|\[\]")
ADVICE = re.compile(
    r"^(This|These|If|To|Consider|Set|See|Note|You|For|Try|Use|Please|Apply|Either|Entries|Check|Revise|Array arguments"
    r"|The mesh given|The 'full pytree'|The error occurred|\w+ is <lambda>)\b"
)


def abridged(text: str, more: str = "", lines: int = 3, most: int = 300) -> str:
    """Return the first lines of an error, and at most two other lines, which name an axis, an argument or a size.

    more  the text after the first empty line
    """
    first, *rest = [line.rstrip() for line in text.strip().splitlines()] or [""]
    rest = [line for line in rest if not ADVICE.match(line.strip())]
    below = [line.strip() for line in (*rest[lines - 1 :], *more.splitlines())]
    facts = [line for line in below if DECIDES.search(line) and FACT.search(line) and not ADVICE.match(line)]
    return "\n".join(shortened(line, most) for line in (first, *rest[: lines - 1], *facts[:2]))
