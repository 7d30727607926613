"""The checks serve another course: its chapters, grader and minipod, and nothing of this book."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
FILES = {
    "lessons/conftest.py": "from grader.run.pytest_plugin import *\n",
    "lessons/ch01_sums/exercises.py": 'def twice(n: int) -> int:\n    """Twice n."""\n    raise NotImplementedError\n',
    "lessons/ch01_sums/test_exercises.py": "def test_twice(check):\n    check(lambda rng: [(3,), (5,)])\n",
    "lessons/ch01_sums/mistakes.py": "def twice__squared(n):\n    return n * n\n",
    "lessons/ch01_sums/words.toml": '[twice.mistakes.squared]\nname.en = "squared"\ntext.en = "Add n to itself."\n',
    "solutions/ch01_sums.py": "def twice(n):\n    return 2 * n\n",
    "answers/ch01_sums.py": "def twice(n):\n    return n**2\n",
    "pytest.ini": "[pytest]\n",
}


def test_a_chapter_of_another_course_is_checked_without_the_book(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    for folder in ("grader", "minipod"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    program = "import sys, pytest; sys.modules['publish'] = None; sys.exit(pytest.main(['lessons', '--lang=en']))"
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 1 and "squared — Add n to itself." in run.stdout, run.stdout + run.stderr
