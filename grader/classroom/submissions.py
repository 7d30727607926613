"""What was handed in: submissions/NAME/chNN_name.py, found and read without running or following anything."""

import os
import stat
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from grader.exercise import answers

_JOINERS = "\u200c\u200d"  # belong to names in some scripts


class BadInput(Exception):
    """What the instructor asked for cannot be done; the message key and its values say why."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = key, values


@dataclass
class Student:
    """One folder. lessons: those handed in · notes: (file, message key) of what was left alone, and why."""

    name: str
    folder: Path
    lessons: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def refused(self) -> dict[str, str]:
        """Lesson -> message key, for files that have the right name but could not be taken."""
        return {name.removesuffix(".py"): key for name, key in self.notes if key != "class-unknown"}


def find(folder: Path, lessons: list[str]) -> tuple[list[Student], list[tuple[str, str]]]:
    """The students, by name, and (name, message key) of what else lies in the folder.

    lessons  the names that a file may have, without .py
    Raises BadInput when the folder is missing, a file, unreadable, or holds no student.
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
    return students, others


def shown(name: str) -> str:
    """Text that can be shown anywhere: what is not Unicode, or steers a terminal or a line, is spelled out."""
    hidden = (c not in _JOINERS and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in name)
    return "".join(c.encode("unicode_escape").decode() if h else c for c, h in zip(name, hidden, strict=True))


def _student(folder: Path, lessons: list[str]) -> Student:
    student = Student(shown(folder.name), folder)
    try:
        entries = _entries(folder)
    except BadInput:
        student.notes.append(("", "class-unreadable"))
        return student
    for entry in entries:
        lesson = entry.name.removesuffix(".py")
        if entry.name == f"{lesson}.py" and lesson in lessons:
            fault = _fault(entry)
            if fault:
                student.notes.append((entry.name, fault))
            else:
                student.lessons.append(lesson)
        else:
            student.notes.append((shown(entry.name), "class-unknown"))
    return student


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What lies in a folder, by name, without hidden files and Python's own."""
    try:
        with os.scandir(folder) as found:
            kept = [e for e in found if not e.name.startswith(".") and e.name not in ("__pycache__", "__MACOSX")]
    except OSError as error:
        raise BadInput("class-folder-unreadable", folder=shown(str(folder)), error=error.strerror) from None
    return sorted(kept, key=lambda e: e.name)


def _fault(entry: os.DirEntry[str]) -> str | None:
    """Why this file is not taken, as a message key, or None."""
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
