"""Runs `python -m lessons class` on submissions: what the tests of the classroom share."""

import atexit
import csv
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import checker_runs
import projects
import pytest

from grader.classroom.sandbox import isolation

ROOT = Path(__file__).resolve().parents[3]
KINDS = [
    pytest.param(kind, marks=pytest.mark.skipif(kind not in isolation.available(), reason=f"no {kind} on this machine"))
    for kind in isolation.KINDS
]

ALL = ("ch90_one.double", "ch90_one.total", "ch90_one.count_to", "ch91_pair.everybody")


def command_for(folder, root, *options, kind="auto"):
    command = [sys.executable, "-m", "lessons", "class", str(folder), "--root", str(root)]
    return [*command, "--isolation", kind, "--lang", "en", "--seed", "1", *options]


@functools.cache
def _copy_for_engine() -> Path:
    """A project that runs the command without rooms: it tells of every file in it that changes meanwhile, and other
    tests, at the same time, keep compiled programs in this one.
    """
    above = Path(tempfile.mkdtemp(prefix="engine-"))
    atexit.register(shutil.rmtree, above, ignore_errors=True)
    return projects.copy(above / "engine")


def check_class(folder, root, *options, kind="auto"):
    """Run the command; its result, and the table's rows by student."""
    command = command_for(folder, root, *options, kind=kind)
    engine = _copy_for_engine() if kind == "none" else ROOT
    done = subprocess.run(command, cwd=engine, capture_output=True, text=True, timeout=900, check=False)
    if "--isolation" in done.stderr and kind != "auto":
        pytest.skip(done.stderr.strip())
    table = folder.parent / "class-report" / "class.csv"
    with open(table, newline="", encoding="utf-8-sig") as file:
        return done, {row["student"]: row for row in csv.DictReader(file)}


def outcomes(row):
    return [row[exercise] for exercise in ALL if exercise in row]


def hand_in(folder, student, **files):
    (folder / student).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / student / f"{name}.py").write_text(text, encoding="utf-8")


def with_honest(tmp_path, **answers):
    """A project, and submissions to its first lesson: the solution with each of these texts below it."""
    root, folder = checker_runs.project(tmp_path / "project"), tmp_path / "submissions"
    honest = right(root, "ch90_one")["ch90_one"]
    for student, text in answers.items():
        hand_in(folder, student, ch90_one=f"{honest}\n{text}")
    return root, folder


def right(root, *lessons):
    return {lesson: (root / "solutions" / f"{lesson}.py").read_text() for lesson in lessons}
