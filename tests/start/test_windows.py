"""On Windows every command says in one sentence what to do, whatever Python lacks there."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What a Python on Windows does not have.
AS_WINDOWS = """
import argparse, os, runpy, shutil, sys  # the standard library's own modules stay those of this system
sys.platform = "win32"
for name in ("fcntl", "resource", "termios", "pty", "grp", "pwd"):
    sys.modules[name] = None
for name in ("fork", "sysconf", "getuid", "geteuid", "killpg", "sched_getaffinity"):
    delattr(os, name)
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    ("words", "lang"),
    [("lessons learn", "zh_TW.UTF-8"), ("lessons class x", "zh_CN.UTF-8"), ("minipod doctor", "en_US.UTF-8")],
)
def test_a_command_says_wsl2(words: str, lang: str):
    command = [sys.executable, "-c", AS_WINDOWS, *words.split()]
    done = subprocess.run(command, cwd=ROOT, env={"LANG": lang}, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "WSL2" in done.stderr, done.stderr
