"""Find and read submissions, submissions/NAME/chNN_name.py, without running anything or following links."""

import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from grader.exercise import answers

REFUSED = ("class-link", "class-no-file", "class-huge", "class-binary", "class-unreadable")
_NUMBERED = re.compile(r"( ?\(\d+\)|[ _-](copy|副本)( \d+)?| - (Copy|副本)( \(\d+\))?)(?=\.py$)")
_JOINERS = "\u200c\u200d"  # belong to names in some scripts


class BadInput(Exception):
    """Raised for an impossible request by the instructor; the message key and its values say why."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = key, values


@dataclass
class Student:
    """The folder of one student. name: as it is shown; no other student has the same.

    lessons  those handed in, with the files that were found for them
    notes    (file, message key) for each file that was ignored, and why
    """

    name: str
    folder: Path
    files: dict[str, Path] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def lessons(self) -> list[str]:
        return list(self.files)

    @property
    def refused(self) -> dict[str, str]:
        """Map lesson -> message key, for files that have the right name but could not be used."""
        return {Path(name).stem: key for name, key in self.notes if key in REFUSED and name.endswith(".py")}

    def reader(self) -> Callable[[Path], answers.Answers]:
        """Return a function that reads the file used as `folder/chNN_name.py`, wherever that file is."""
        return lambda path: answers.read(self.files.get(path.stem, path))


def find(folder: Path, lessons: list[str]) -> tuple[list[Student], list[tuple[str, str]]]:
    """Return the students, by name, and (name, message key) for everything else in the folder.

    lessons  the names that a file may have, without .py
    Raises BadInput if the folder is missing, a file, unreadable, or contains no student.
    """
    if not folder.exists():
        raise BadInput("class-no-folder", folder=shown(str(folder)))
    if not folder.is_dir():
        raise BadInput("class-not-a-folder", folder=shown(str(folder)))
    students, others = [], []
    for entry in _entries(folder):
        if entry.is_symlink():
            others.append((shown(entry.name), "class-link"))
        elif entry.is_dir():
            students.append(_student(Path(entry.path), lessons))
        else:
            others.append((shown(entry.name), "class-unknown"))
    if not students:
        raise BadInput("class-empty", folder=shown(str(folder)))
    _tell_apart(students)
    return students, others


def _tell_apart(students: list[Student]) -> None:
    """Give all students different names; add a note to names that look the same."""
    looks = [unicodedata.normalize("NFKC", student.name).casefold() for student in students]
    times = Counter(looks)
    for student, look in zip(students, looks, strict=True):
        if times[look] > 1:
            student.notes.append(("", "class-same-name"))
    called: set[str] = set()
    for student in students:
        name, n = student.name, 1
        while student.name in called:
            n += 1
            student.name = f"{name} [{n}]"
        called.add(student.name)


def shown(name: str) -> str:
    """Make a text safe to show anywhere: characters that are not Unicode, or control a terminal, are spelled out."""
    hidden = (c not in _JOINERS and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in name)
    return "".join(c.encode("unicode_escape").decode() if h else c for c, h in zip(name, hidden, strict=True))


def _student(folder: Path, lessons: list[str]) -> Student:
    student = Student(shown(folder.name), folder)
    try:
        entries = _entries(folder)
    except BadInput:
        student.notes.append(("", "class-unreadable"))
        return student
    # some hand in the folder that the answers lie in
    inner = [e for e in entries if e.is_dir(follow_symlinks=False)]
    if len(inner) == 1 and not any(_is_lesson(e, lessons) for e in entries):
        try:
            entries = [*(e for e in entries if e is not inner[0]), *_entries(Path(inner[0].path))]
            student.notes.append((shown(inner[0].name), "class-nested"))
        except BadInput:
            student.notes.append((shown(inner[0].name), "class-unreadable"))
    for entry in entries:
        if not _is_lesson(entry, lessons):
            meant = _NUMBERED.sub("", entry.name).removesuffix(".py").lower()
            known = meant in lessons and entry.name.lower().endswith(".py")
            student.notes.append((shown(entry.name), "class-misnamed" if known else "class-unknown"))
        elif fault := _fault(entry):
            student.notes.append((entry.name, fault))
        else:
            student.files[entry.name.removesuffix(".py")] = Path(entry.path)
    return student


def _is_lesson(entry: os.DirEntry[str], lessons: list[str]) -> bool:
    return entry.name.endswith(".py") and entry.name.removesuffix(".py") in lessons


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder by name, without hidden files and Python's own."""
    try:
        with os.scandir(folder) as entries:
            kept = [e for e in entries if not e.name.startswith(".") and e.name not in ("__pycache__", "__MACOSX")]
    except OSError as error:
        raise BadInput("class-folder-unreadable", folder=shown(str(folder)), error=error.strerror) from None
    return sorted(kept, key=lambda e: e.name)


def _fault(entry: os.DirEntry[str]) -> str | None:
    """Return why this file cannot be used, as a message key, or None."""
    if entry.is_symlink():
        return "class-link"
    try:
        about = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(about.st_mode):
            return "class-no-file"
        if about.st_size > answers.LARGEST:
            return "class-huge"
        with open(entry.path, "rb") as file:
            return "class-binary" if b"\0" in file.read(answers.LARGEST) else None
    except OSError:
        return "class-unreadable"
