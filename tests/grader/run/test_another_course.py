"""The checks serve another course: its chapters, grader and minipod, and nothing of this book."""

import os
import shutil
import subprocess
import sys

from checker_runs import HERE, answer, project


def test_a_chapter_of_another_course_is_checked_without_the_book(tmp_path):
    project(tmp_path)
    answer(tmp_path, "ch90_one", "def double(x):\n    return x**2\n")
    for folder in ("grader", "minipod"):
        shutil.copytree(HERE.parent / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    program = "import sys, pytest; sys.modules['publish'] = None; sys.exit(pytest.main(['lessons', '--lang=en']))"
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 1 and "squared — You multiplied x by itself." in run.stdout, run.stdout + run.stderr
