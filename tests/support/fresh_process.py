"""Tests that must run in a process in which nobody has started JAX: files of cases, run by a test of a few lines."""

import subprocess
import sys
from pathlib import Path


def pass_in_one(cases: Path, *options: str, seconds: float) -> None:
    """All tests of this file pass in a Python of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(cases)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
