"""Runs the lessons' checker in a subprocess, on a copy of sample_lessons: what the tests of the checker share."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import warm_python

from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Settings
from grader.judge.verdict import Verdict
from grader.messages import LANGUAGES
from grader.run import checking

HERE = Path(__file__).parents[2]
SAMPLE = HERE / "sample_lessons"

TESTS = """
import jax
import numpy as np

def _check(check):
    def cases(rng):
        place = jax.sharding.NamedSharding(jax.make_mesh((8,), ("x",)), jax.sharding.PartitionSpec("x"))
        return [(jax.device_put(rng.normal(size=8).astype(np.float32) + 3, place),) for _ in range(2)]
    check(cases, compare=("value", "placement"))
"""


@dataclass
class Checked:
    """What one run of the checker gave. rows: the report by exercise, or {} without one."""

    code: int
    text: str
    rows: dict[str, dict[str, str]]


def project(folder: Path) -> Path:
    """A project with the sample lessons, without answers."""
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("conftest.py", "__pycache__"), dirs_exist_ok=True)
    (folder / "lessons" / "conftest.py").write_text("from grader.run.pytest_plugin import *\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


def check(
    root: Path,
    *options: str,
    report: bool = True,
    env: dict[str, str] | None = None,
    launch: tuple[str, ...] = ("-m", "pytest"),
) -> Checked:
    """`pytest lessons/ OPTIONS` in the project, or only what OPTIONS name of it. Fails after five minutes."""
    path = root / "report.json"
    path.unlink(missing_ok=True)
    where = [] if any(o.startswith("lessons/") for o in options) else ["lessons/"]
    arguments = [*where, *options, "-p", "no:cacheprovider", *[f"--report={path}"] * report]
    more = env or {}
    if launch == ("-m", "pytest") and all(name.startswith("LC_") for name in more):
        done = warm_python.run("pytest", arguments, root, more)
    else:
        variables = warm_python.environment() | {"PYTHONPATH": str(HERE.parent)} | more
        command = [sys.executable, *launch, *arguments]
        done = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, timeout=1800)
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return Checked(done.returncode, done.stdout + done.stderr, {row["exercise"]: row for row in rows})


def lesson(root: Path, name: str, blanks: str, solution: str, tests: str, mistakes: str = "", words: str = "") -> None:
    """One more lesson."""
    folder = root / "lessons" / name
    folder.mkdir(parents=True)
    texts = {"exercises.py": blanks, "test_exercises.py": tests, "mistakes.py": mistakes, "words.toml": words}
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")
    answer(root, name, solution, "solutions")


def verdict_on(root: Path, exercise: str, folder: str = "answers") -> tuple[Verdict, dict[str, list[str]]]:
    """The verdict on an answer, without pytest, and what a learner reads in each language, line by line."""
    check = checking.begin(Catalogue(root / "lessons").spec(exercise), Settings(root / folder, 7))
    verdict = checking.finish(check)
    return verdict, {lang: checking.in_words(check, lang).splitlines() for lang in LANGUAGES}


def answer(root: Path, lesson: str, text: str, folder: str = "answers") -> None:
    """Write an answers file."""
    (root / folder).mkdir(exist_ok=True)
    (root / folder / f"{lesson}.py").write_text(text, encoding="utf-8")
