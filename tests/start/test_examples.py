"""What is there to be copied works where it is copied to: its imports are in its project, and its tests pass there."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest
from projects import ROOT

EXAMPLES = [folder for folder in sorted((ROOT / "examples").iterdir()) if (folder / "pyproject.toml").exists()]
CALLED = {"orbax": "orbax-checkpoint"}  # as one installs it


@pytest.fixture(params=EXAMPLES, ids=lambda folder: folder.name)
def example(request, tmp_path) -> Path:
    """A copy, in an empty folder."""
    left = shutil.ignore_patterns("__pycache__", ".pytest_cache", "runs", "*.egg-info")
    return shutil.copytree(request.param, tmp_path / request.param.name, ignore=left)


def imported(files) -> set[str]:
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names}


def test_its_project_names_what_it_imports(example):
    said = tomllib.loads((example / "pyproject.toml").read_text("utf-8"))["project"]
    needs = [*said["dependencies"], *sum(said.get("optional-dependencies", {}).values(), [])]
    named = {re.match(r"[\w-]+", line)[0] for line in needs}
    own = {file.stem for file in example.rglob("*.py")} | {folder.name for folder in example.rglob("*")}
    found = imported(file for file in example.rglob("*.py") if file.parent.name != "tests") - own
    assert {CALLED.get(name, name) for name in found - {"minipod"}} == named  # minipod is on no index
    assert imported((example / "tests").glob("*.py")) - own - found == {"pytest"}


def test_both_readmes_name_its_files_and_run_the_same(example):
    texts = [(example / name).read_text("utf-8") for name in ("README.md", "README.zh-Hans.md")]
    shell = ["\n".join(re.findall(r"```shell\n(.*?)```", text, re.DOTALL)) for text in texts]
    commands = [re.findall(r"^(?!#)(\S.*?)(?:\s+#.*)?$", block, re.M) for block in shell]
    assert commands[0] == commands[1] and len(commands[0]) > 5
    for text in texts:
        for name in re.findall(r"^\| `([\w/.]+)`", text, re.M):
            assert (example / name).is_file(), name
        tests = {*re.findall(r"`(test_\w+\.py)`", text)}
        assert tests == {file.name for file in (example / "tests").glob("test_*.py")}


def _run(example: Path, *command: str) -> str:
    missing = [name for name in ("flax", "grain", "optax", "orbax") if find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)}: not installed")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "JAX_", "XLA_", "MINIPOD_"))}
    env |= {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    command = sys.executable, *command
    done = subprocess.run(command, cwd=example, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_step_sends_what_its_formula_says(example):
    said = _run(example, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_step.py", "-k", "fsdp_gathers")
    assert re.search(r"^1 passed, 3 deselected in", said, re.M), said


@pytest.mark.long
@pytest.mark.rarely  # five minutes
def test_its_own_tests_pass(example):
    kept = (example / "tests/plans/test_plans.json").read_text("utf-8")
    known = f'"jax {version("jax")}, cpu"' in kept  # of another version its plans have no figures
    left = [] if known else [f"--ignore=tests/{name}.py" for name in ("test_plans", "test_pod")]
    said = _run(example, "-m", "pytest", "-q", "-p", "no:cacheprovider", *left)
    assert re.search(r"^(15 passed|13 passed, 2 skipped|11 passed) in", said, re.M), said
