"""The cases of forked_cases.py, in a fresh process: other tests of this one may have started JAX."""

import subprocess
import sys
from pathlib import Path

import jax

from minipod import forked

CASES = Path(__file__).parents[2] / "support/forked_cases.py"


def test_every_case_of_forked_children_ends_as_it_should():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_a_parent_in_which_jax_has_started_is_told_so():
    jax.devices()
    (result,) = forked.run(lambda: 1, devices=4)
    assert (result.status, result.ready) == ("raised", False)
    assert "before" in result.text
