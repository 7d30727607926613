"""The exercises in an editor: its test explorer finds them, runs one at a time, and changes nothing by looking."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from checker_runs import answer, project

from grader.exercise.progress import all_exercises

ROOT = Path(__file__).parents[2]


def settings():
    return json.loads((ROOT / ".vscode" / "settings.json").read_text())


def pytest_as_an_editor(cwd, *arguments):
    """What pytest prints, and its exit status."""
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert "INTERNALERROR" not in done.stdout + done.stderr
    return done.stdout, done.returncode


def everything(folder):
    """Each file below the folder with its time of change; pytest's and Python's own caches do not count."""
    files = (p for p in folder.rglob("*") if not {"__pycache__", ".pytest_cache"} & set(p.parts))
    return {p: p.lstat().st_mtime_ns for p in files if p.is_file()}


def test_settings_and_container_name_the_environment_the_lessons_and_the_recommended_extensions():
    assert settings()["python.defaultInterpreterPath"] == "${workspaceFolder}/.venv/bin/python"
    assert settings()["python.testing.pytestArgs"] == ["lessons"]
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    recommended = json.loads((ROOT / ".vscode" / "extensions.json").read_text())
    assert container["customizations"]["vscode"]["extensions"] == recommended["recommendations"]
    assert container["postCreateCommand"] == "make env"


def test_the_explorer_finds_every_exercise_of_the_book(tmp_path):
    root = tmp_path / "repository"
    for name in ("lessons", "minipod", "book"):  # a copy, so that what other tests do meanwhile is not taken for ours
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "outputs", "_static"))
    shutil.copy(ROOT / "pyproject.toml", root)
    before = everything(root)
    arguments = [f"--rootdir={root}", "--collect-only", *settings()["python.testing.pytestArgs"]]
    said, code = pytest_as_an_editor(root, *arguments)
    assert code == 0
    ids = [
        f"lessons/{lesson}/test_exercises.py::test_{name}"
        for lesson, _, name in (e.partition(".") for e in all_exercises(root / "lessons"))
    ]
    assert ids and set(ids) <= set(said.split())
    assert everything(root) == before


def test_one_exercise_runs_by_its_node_id_from_its_own_folder(tmp_path):
    root = project(tmp_path / "project")
    answer(root, "ch90_one", "def double(x):\n    return 2 * x\n\ndef total(x, mesh):\n    return 0.0\n")
    report = f"--junit-xml={tmp_path / 'report.xml'}"  # each test as a plug-in of the editor is told of it
    _, code = pytest_as_an_editor(root / "lessons/ch90_one", report, "test_exercises.py::test_total")
    (found,) = ElementTree.parse(tmp_path / "report.xml").iter("testcase")
    said = "".join(failure.text or "" for failure in found.iter("failure"))
    assert (found.get("name"), code) == ("test_total", 1) and "called    total(f32[" in said
    assert not (root / "lessons" / "answers").exists()
