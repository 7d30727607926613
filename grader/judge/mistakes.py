"""Find the known mistake that behaves like a wrong answer."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.exercise import answers
from grader.exercise.spec import Spec
from grader.judge.alike import Agreement, agreement, same_behaviour
from grader.judge.verdict import Seen, Verdict, judge
from grader.see.observation import ProcessResult

Results = list[ProcessResult]


@dataclass(frozen=True)
class Recognised:
    """The mistake behind a wrong answer.

    certain  whether both behaved the same on every case
    cases    if not certain, those on which they were wrong in the same way
    """

    name: str
    certain: bool
    cases: frozenset[int] = frozenset()


def recognise(
    spec: Spec, right: Seen, answer: Results, file: str, results: dict[str, Results], looking: Iterable[str]
) -> Recognised | None:
    """Return the first function of mistakes.py that behaves like the answer on every case and is not right itself.

    If there is none, return the only one that behaves the same as far as the cases tell (see `_likely`), or None.

    file     the path of the answer
    results  the observations of each mistake so far
    looking  yields the names of mistakes as they are observed
    """
    path = str(spec.folder / "mistakes.py")

    @functools.cache
    def mistaken(name: str) -> Verdict:
        return judge(spec, Verdict(spec.exercise, ""), right, results[name], name, first=True)

    def matches(name: str, exact: bool) -> bool:
        if mistaken(name).outcome == "right":
            return False
        both = (answer, spec.name, file), (results[name], name, path)
        return same_behaviour(spec, *both, exact, by_value=mistaken(name).reason == "differs")

    if name := next((name for name in looking if matches(name, exact=True)), None):
        return Recognised(name, certain=True)
    names = [name for name in known_mistakes(spec) if name in results]
    # a second spelling may send the same by other means, or meet the same error on another way
    if name := next((name for name in names if matches(name, exact=False)), None):
        return Recognised(name, certain=True)
    return _likely({name: agreement(spec, right, answer, (results[name], name, path)) for name in names})


MOST = 2  # an edge, a rounding: so many times as many cases have to agree as do not


def _likely(agreements: dict[str, Agreement | None]) -> Recognised | None:
    """Return the mistake with which an answer agrees, at least nearly, if neither raises; None if two fit equally well.

    Of mistakes that differ only in an edge case, as their names tell (`mean`, `mean_nan`), it is the first.
    """
    agreeing = {name: a for name, a in agreements.items() if a and a.alike and _agrees(a)}
    if whole := {name: a for name, a in agreeing.items() if not a.apart}:
        agreeing = whole
    most = max((len(a.alike) - len(a.apart) for a in agreeing.values()), default=0)
    best = [name for name, a in agreeing.items() if len(a.alike) - len(a.apart) == most]
    if not best or any(not name.startswith(best[0]) for name in best):
        return None
    return Recognised(best[0], certain=False, cases=agreeing[best[0]].alike)


def known_mistakes(spec: Spec) -> list[str]:
    """Return the exercise's functions in mistakes.py, in order."""
    path = spec.folder / "mistakes.py"
    if not path.exists():
        return []
    return [name for name in _functions(path, path.stat().st_mtime_ns) if name.startswith(spec.name + "__")]


@functools.cache  # asked for every wrong answer
def _functions(path: Path, _changed: int) -> list[str]:
    return list(answers.read(path).functions)


def _agrees(agreed: Agreement) -> bool:
    most = MOST * len(agreed.apart) <= len(agreed.alike)
    return not agreed.apart or (agreed.telling and most)
