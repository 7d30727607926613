"""`python -m lessons check CHAPTER --mutants`: whether the checks tell right answers from mutants, whatever the seed.

A mutant that is right is listed in the chapter's others/same.toml, with the reason:

    [[same]]
    exercise = "spread"
    reason = "all devices begin alike: with how many bytes does not matter"
    solution = ["[0] * len(devices) → [1] * len(devices)"]
    right_a = ["{d: 0 for d in devices} → {d: 1 for d in devices}"]
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from grader.exercise.spec import Settings, Spec
from publish.author.chapter_files import ChapterFiles, Finding
from publish.author.mutants import Mutant, mutants_of
from publish.author.mutation_run import Unjudged, caught

SEEDS = 10
Key = tuple[str, str, str]  # the exercise, the file, what was changed


@dataclass
class Tally:
    """Of a chapter's mutants: how many there are, how many every seed catches, how many are right."""

    made: int = 0
    caught: int = 0
    same: int = 0

    def __str__(self) -> str:
        return f"mutants: {self.made}, caught: {self.caught}, right: {self.same}"


def listed(chapter: ChapterFiles) -> dict[Key, str]:
    """The mutants that are right, with the reasons. Raises ValueError where the list cannot be read."""
    path = chapter.others / "same.toml"
    if not path.exists():
        return {}
    found: dict[Key, str] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("same", []):
        files = {name: words for name, words in entry.items() if name not in ("exercise", "reason")}
        if not (entry.get("exercise") and entry.get("reason") and files):
            raise ValueError(f"an entry needs an exercise, a reason, and mutants of a file: {entry}")
        for name, several in files.items():
            found |= {(entry["exercise"], name, words): entry["reason"] for words in several}
    return found


def check_mutants(chapter: ChapterFiles, specs: list[Spec], seeds: int, tally: Tally) -> Iterator[Finding]:
    """What mutants show: one that passes and is not listed, whose verdict depends on the seed, or a list that is old.

    A mutant that the first seed catches is tried on the others as well: a hole may be in the dice.
    """
    try:
        right = listed(chapter)
    except (OSError, ValueError) as error:
        yield Finding(chapter.place(chapter.others / "same.toml"), f"cannot be read: {error}", True)
        return
    unseen = dict(right)
    for spec in specs:
        mutants = [m for path in [chapter.solution, *chapter.right] if path.exists() for m in mutants_of(path, spec)]
        settings = Settings(chapter.solution.parent, 0, limit=120.0, memory=2.0)
        try:
            times = caught(spec, settings, seeds, mutants)
        except Unjudged as error:
            yield Finding(chapter.place(chapter.solution, spec.name), f"is not right {error}")
            continue
        for mutant, several in zip(mutants, times, strict=True):
            is_listed = unseen.pop(key_of(chapter, mutant), None) is not None
            tally.made += 1
            tally.caught += several == seeds
            tally.same += is_listed and several == 0
            if said := _finding(several, seeds, is_listed):
                yield Finding(chapter.place(mutant.path, mutant.exercise), f"{said}: {mutant.words}")
    asked = {spec.name for spec in specs}
    for exercise, name, words in unseen:
        if exercise in asked:
            yield Finding(chapter.place(chapter.others / "same.toml"), f"{exercise} {name} has no such mutant: {words}")


def key_of(chapter: ChapterFiles, mutant: Mutant) -> Key:
    """How same.toml names a mutant."""
    name = "solution" if mutant.path == chapter.solution else mutant.path.stem
    return mutant.exercise, name, mutant.words


def _finding(times: int, seeds: int, is_listed: bool) -> str:
    """What is wrong with a mutant that so many of the seeds catch; nothing where all do, or none and it is listed."""
    if 0 < times < seeds:
        return f"{times} of {seeds} seeds catch this mutant, the others do not"
    if times and is_listed:
        return "this mutant is caught, but listed in same.toml"
    return "" if times or is_listed else "no seed catches this mutant"
