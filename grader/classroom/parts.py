"""Check a class in parts, each on a different process or machine with the same folders; the last writes the report.

OUT/parts/3-of-10.json has the results of the third of ten parts. A part is valid as long as nothing that it read has
changed. The command names the parts that are missing or no longer valid, and only these have to be run again.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from grader.classroom import integrity
from grader.classroom.grading import ClassGrading, Outcome
from grader.classroom.prepared import cache_key
from grader.classroom.submissions import BadInput, Student
from grader.files import write_private
from grader.see.wire import Malformed, decode, encode

MOST = 10_000  # parts


@dataclass(frozen=True)
class Part:
    """The results of one part.

    key      a hash of all that the outcomes depend on: see `key`
    outcomes, lines_to_read, functions, notes  by student, as in ClassGrading and Student
    isolation  how the answers were run, as message keys · changed: files that changed meanwhile
    seconds, work  by the clock, and of processor time
    """

    key: str
    outcomes: dict[str, dict[str, Outcome]]
    lines_to_read: dict[str, dict[str, tuple[integrity.Line, ...]]]
    functions: dict[str, dict[str, tuple[str, ...]]]
    notes: dict[str, tuple[tuple[str, str], ...]]
    isolation: tuple[str, ...]
    changed: tuple[str, ...]
    seconds: float
    work: float


@dataclass(frozen=True)
class Share:
    """The n-th of `of` parts."""

    n: int
    of: int

    def students(self, all_of_them: list[Student]) -> list[Student]:
        """Return the students of this part."""
        return all_of_them[self.n - 1 :: self.of]

    def path(self, out: Path) -> Path:
        return out / "parts" / f"{self.n}-of-{self.of}.json"

    @property
    def all(self) -> "list[Share]":
        return [Share(n, self.of) for n in range(1, self.of + 1)]


def share(text: str) -> Share:
    """Parse `3/10` into a Share. Raises BadInput."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    n, of = map(int, match.groups()) if match else (0, 0)
    if not 1 <= n <= of <= MOST:
        raise BadInput("class-bad-part", value=text)
    return Share(n, of)


def key(grading: ClassGrading, students: list[Student]) -> str:
    """Hash a part's students: their files, the exercises, the code that judges, and settings that affect outcomes."""
    settings, root = grading.settings, grading.root
    about = [(student.name, student.notes, sorted(student.files)) for student in students]
    answers = [student.files[lesson] for student in students for lesson in sorted(student.files)]
    lessons = sorted({*root.glob("lessons/ch*/*.*"), *root.glob("solutions/*.py")})
    decide = (settings.seed, settings.limit, settings.memory, grading.lang, grading.exercises)
    return cache_key(decide, about, files=[*lessons, *answers])


def write(path: Path, part: Part) -> None:
    """Store a part, readable by this user only."""
    write_private(path, json.dumps(encode(part)).encode())


def read(path: Path, wanted: str) -> Part | None:
    """Return the stored part if it has this key, else None."""
    try:
        part = decode(Part, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError, Malformed):
        return None
    return part if part.key == wanted else None


def merged(grading: ClassGrading, parts: list[Part]) -> None:
    """Merge the results of the parts into `grading`, which covers all students."""
    functions: dict[str, dict[str, tuple[str, ...]]] = {}
    for part in parts:
        grading.outcomes |= part.outcomes
        grading.lines_to_read |= part.lines_to_read
        functions |= part.functions
    notes = {name: list(kept) for part in parts for name, kept in part.notes.items()}
    for student in grading.students:
        student.notes = notes.get(student.name, student.notes)
    grading.outcomes = {student.name: grading.outcomes[student.name] for student in grading.students}
    grading.alike = integrity.alike({student.name: functions.get(student.name, {}) for student in grading.students})
