"""minipod's README, word for word, in an empty folder; and the names that it promises to keep."""

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minipod
from minipod import hosts

ROOT = Path(__file__).parents[2]
NAMES = ROOT / "tests/data/minipod_names.txt"


def test_its_tests_pass_in_an_empty_folder_and_a_wrong_budget_fails_with_the_bill(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "minipod/README.md").read_text("utf-8"), re.DOTALL)
    conftest, step, with_plans = blocks
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_step.py").write_text(step + with_plans)

    def pytest(*options: str) -> str:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300).stdout

    assert "3 passed" in pytest("--update-plans")
    assert "3 passed" in pytest()
    (tmp_path / "test_step.py").write_text((step + with_plans).replace("sent=7_168", "sent=28_672"))
    said = pytest()
    assert "2 passed" in said and "1 failed" in said
    assert "each device sends 7,168 bytes, not 28,672" in said and "all-reduce" in said


def public() -> list[str]:
    """Each public name with the names of its parameters."""
    found: list[str] = []
    for module in minipod.PUBLIC:
        there = importlib.import_module(f"minipod.{module}")
        for name in there.__all__:
            thing = getattr(there, name)
            parameters = f"({', '.join(inspect.signature(thing).parameters)})" if inspect.isfunction(thing) else ""
            found.append(f"{module}.{name}{parameters}")
    return sorted(found)


def test_no_public_name_goes_or_changes_unnoticed():
    kept = NAMES.read_text("utf-8").split("\n")[:-1]
    gone, new = sorted({*kept} - {*public()}), sorted({*public()} - {*kept})
    remedy = "raise the version, say it in minipod/CHANGELOG.md, and run `python tests/minipod/test_minipods_readme.py`"
    assert (gone, new) == ([], []), remedy


@pytest.mark.devices(8)
@pytest.mark.parametrize("module", minipod.PUBLIC)
def test_each_public_module_has_an_example_that_prints_what_it_says(module, tmp_path, monkeypatch):
    if module == "hosts" and (reason := hosts.why_not()):
        pytest.skip(reason)
    monkeypatch.chdir(tmp_path)
    done = doctest.testmod(importlib.import_module(f"minipod.{module}"))
    assert done.attempted and not done.failed


if __name__ == "__main__":
    NAMES.write_text("".join(f"{line}\n" for line in public()), "utf-8")
