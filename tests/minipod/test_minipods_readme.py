"""minipod's README, word for word, in an empty folder; and the examples of its public modules."""

import doctest
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minipod
from minipod import hosts

ROOT = Path(__file__).parents[2]


def test_its_tests_pass_in_an_empty_folder_and_a_wrong_budget_fails_with_the_bill(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "minipod/README.md").read_text("utf-8"), re.DOTALL)
    conftest, step, with_plans = blocks
    assert "sent=7_168" in step
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_step.py").write_text(step + with_plans)
    (tmp_path / "test_wrong.py").write_text(step.replace("sent=7_168", "sent=28_672"))
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--update-plans"]
    said = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600).stdout
    assert re.search(r"^test_step.py \.\.\. ", said, re.MULTILINE) and "1 failed, 4 passed" in said, said
    assert "each device sends 7,168 bytes, not 28,672" in said and "all-reduce" in said


# Their examples start clusters, as that of minipod.cluster does, and JAX three times.
LONG = ("doctor", "guard", "hosts")


@pytest.mark.parametrize("module", [pytest.param(m, marks=[pytest.mark.long] * (m in LONG)) for m in minipod.PUBLIC])
def test_each_public_module_has_an_example_that_prints_what_it_says(module, tmp_path, monkeypatch):
    if module == "hosts" and (reason := hosts.why_not()):
        pytest.skip(reason)
    monkeypatch.chdir(tmp_path)
    done = doctest.testmod(importlib.import_module(f"minipod.{module}"))
    assert done.attempted and not done.failed
