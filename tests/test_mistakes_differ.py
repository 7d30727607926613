"""Known mistakes of an exercise, and its solution, can be told apart by what they do."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent
CHAPTERS = sorted(p.parent.name for p in ROOT.glob("lessons/ch*/exercises.py"))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_two_mistakes_do_the_same_and_none_does_what_the_solution_does(chapter):
    run = subprocess.run(
        [sys.executable, HERE / "mistakes_seen.py", chapter],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert run.returncode == 0, run.stderr
    alike = json.loads(run.stdout.splitlines()[-1])
    assert alike == {name: [] for name in alike}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_exercise_has_at_least_three_mistakes(chapter):
    names = [
        n.name
        for n in ast.parse((ROOT / "lessons" / chapter / "mistakes.py").read_text()).body
        if isinstance(n, ast.FunctionDef)
    ]
    exercises = ast.parse((ROOT / "lessons" / chapter / "exercises.py").read_text()).body
    few = {
        e.name
        for e in exercises
        if isinstance(e, ast.FunctionDef)
        if sum(n.startswith(f"{e.name}__") for n in names) < 3
    }
    assert few == set()
