"""The exercises in an editor: its test explorer finds them, runs one at a time, and changes nothing by looking."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest
from checker_runs import answer, project

from grader.exercise.progress import all_exercises

ROOT = Path(__file__).parents[2]
ADAPTER = '''"""In place of the plugin of VS Code's Python extension: notes what is collected and how each test ends."""

import json
import os
import sys


def pytest_collection_finish(session):
    _note([item.nodeid for item in session.items])


def pytest_runtest_logreport(report):
    if report.when == "call":
        _note([report.nodeid, report.outcome, str(report.longrepr or "")])


def _note(line):
    with open(os.environ["NOTES"], "a", encoding="utf-8") as notes:
        print(json.dumps(line), file=notes)
'''


def settings():
    return json.loads((ROOT / ".vscode" / "settings.json").read_text())


def pytest_as_an_editor(tmp_path, cwd, *arguments):
    """The lines that the stand-in for VS Code's plugin noted, and the exit status."""
    notes, plugins = tmp_path / "notes", tmp_path / "plugins"
    notes.write_text("")
    plugins.mkdir(exist_ok=True)
    (plugins / "vscode_pytest.py").write_text(ADAPTER)
    env = os.environ | {"PYTHONPATH": f"{plugins}{os.pathsep}{ROOT}", "NOTES": str(notes)}
    command = [sys.executable, "-m", "pytest", "-p", "vscode_pytest", *arguments]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert "INTERNALERROR" not in done.stdout + done.stderr
    return [json.loads(line) for line in notes.read_text().splitlines()], done.returncode


def everything(folder):
    """Each file below the folder with its time of change; pytest's and Python's own caches do not count."""
    files = (p for p in folder.rglob("*") if not {"__pycache__", ".pytest_cache"} & set(p.parts))
    return {p: p.lstat().st_mtime_ns for p in files if p.is_file()}


def test_the_settings_name_the_environment_that_make_makes_and_the_lessons():
    assert settings()["python.defaultInterpreterPath"] == "${workspaceFolder}/.venv/bin/python"
    assert settings()["python.testing.pytestArgs"] == ["lessons"]


def test_the_container_makes_the_environment_and_has_the_recommended_extensions():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    recommended = json.loads((ROOT / ".vscode" / "extensions.json").read_text())
    assert container["customizations"]["vscode"]["extensions"] == recommended["recommendations"]
    assert container["postCreateCommand"] == "make env"


def test_the_explorer_finds_every_exercise_of_the_book(tmp_path):
    copied = ["lessons", "minipod", "book", "pyproject.toml"]
    for name in copied:  # a copy, so that what other tests do meanwhile is not taken for ours
        place = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        place(ROOT / name, tmp_path / "repository" / name if place is shutil.copytree else tmp_path / "repository")
    root = tmp_path / "repository"
    before = everything(root)
    arguments = [f"--rootdir={root}", "--collect-only", "-q", *settings()["python.testing.pytestArgs"]]
    (found, *_), code = pytest_as_an_editor(tmp_path, root, *arguments)
    assert code == 0
    ids = [
        f"lessons/{lesson}/test_exercises.py::test_{name}"
        for lesson, _, name in (e.partition(".") for e in all_exercises(root / "lessons"))
    ]
    assert ids and set(ids) <= set(found)
    assert everything(root) == before


@pytest.mark.parametrize(
    ("inside", "rootdir", "name"),
    [
        (".", True, "double"),
        pytest.param(".", True, "total", marks=pytest.mark.long),
        pytest.param("lessons", True, "total", marks=pytest.mark.long),
        ("lessons/ch90_one", False, "total"),
    ],
)
def test_one_exercise_runs_by_its_node_id_from_anywhere(tmp_path, inside, rootdir, name):
    root = project(tmp_path / "project")
    answer(root, "ch90_one", "def double(x):\n    return 2 * x\n\ndef total(x, mesh):\n    return 0.0\n")
    where = [f"--rootdir={root / inside}"] if rootdir else []
    node = os.path.relpath(root / "lessons/ch90_one/test_exercises.py", root / inside) + f"::test_{name}"
    (found, result), code = pytest_as_an_editor(tmp_path, root / inside, *where, node)
    assert len(found) == 1 and found[0].endswith(f"test_exercises.py::test_{name}")
    assert (result[1], code) == (("passed", 0) if name == "double" else ("failed", 1))
    assert name == "double" or "called    total(f32[" in result[2]
    assert not (root / "lessons" / "answers").exists()


def test_a_notebook_runs_the_learner_s_file_after_it_has_simulated_devices(tmp_path):
    answer(tmp_path, "ch90_one", "import jax\n\ndef double(x):\n    return 2 * x\n\nseen = jax.device_count()\n")
    cells = ["from minipod.devices import simulate; simulate(8)", "%run answers/ch90_one.py", "print(seen, double(21))"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert book.cells[-1].outputs[0].text == "8 42\n"
