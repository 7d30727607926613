"""Format findings as lines of text or as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MARKS = {"well": "✓", "note": "!", "fault": "✗"}
PLAIN = str.maketrans({"✓": "+", "✗": "x", "·": "-", "×": "x", "µ": "u", "±": "+/-", "…": "..."})


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    advice  what to do, in one sentence; "" if nothing is wrong
    needed  whether nothing works without it
    """

    name: str
    value: str
    advice: str = ""
    needed: bool = True

    @property
    def key(self) -> str:
        """Return the finding's name in --json."""
        return self.name.lower().replace(" ", "_")

    @property
    def state(self) -> str:
        """Return "well", "note" (something may be wrong) or "fault" (something that is needed does not work)."""
        return "well" if not self.advice else "fault" if self.needed else "note"


def all_well(findings: Sequence[Finding]) -> bool:
    """Return whether everything that is needed works."""
    return all(finding.state != "fault" for finding in findings)


def describe(findings: Sequence[Finding], encoding: str = "utf-8") -> str:
    """Format findings as aligned lines with marks, then a sentence per problem; ASCII if `encoding` lacks the marks."""
    width = max(len(f.name) for f in findings)
    lines = [f"{MARKS[f.state]} {f.name:{width}}  {f.value}" for f in findings]
    problems = [f"{f.name}: {f.advice}" for f in findings if f.advice]
    return fit("\n".join([*lines, "", *(problems or ["No problem was found."])]), encoding)


def fit(text: str, encoding: str) -> str:
    """Return `text` in characters that a terminal with this encoding can show."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return text.translate(PLAIN).encode("ascii", "replace").decode()
    return text


def as_data(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the object that --json prints: {"well": bool, "findings": [{"key", "state", "value", "advice"}]}."""
    rows = [{"key": f.key, "state": f.state, "value": f.value, "advice": f.advice} for f in findings]
    return {"well": all_well(findings), "findings": rows}


def as_rows(findings: Sequence[Finding | None]) -> list[list[str | bool]]:
    """Return name, value, advice and `needed` of each finding with advice, to be sent to another process."""
    return [[f.name, f.value, f.advice, f.needed] for f in findings if f and f.advice]
