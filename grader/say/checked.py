"""Define the result of a check in the form that other programs get."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Checked:
    """The outcome, the mistake that was recognised, and the explanation in the learner's language.

    line    of the function in the answers file; 0 if it has none
    answer  fingerprint of the answers file that was checked; empty if it could not be read
    """

    exercise: str
    outcome: str
    mistake: str | None
    message: str
    line: int
    answer: str
