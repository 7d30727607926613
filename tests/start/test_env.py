"""`make env`: made once, made again where it has to be, and where it fails it says why and counts as not done."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from projects import LIMIT, make, start, tiny

MAKING = "making the environment in "


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny project with its environment, in a place that has a space and Chinese in its name."""
    folder = tiny(tmp_path_factory.mktemp("start") / "我的 书")
    done = make(folder, "env")
    assert done.returncode == 0 and done.stdout.startswith(MAKING), done.stdout
    return folder


def test_what_is_there_is_left_alone_and_needs_nothing(made: Path):
    ready = (made / ".venv/.ready").stat().st_mtime_ns
    done = make(made, "env", "PYTHON=no-such-python")
    assert (done.returncode, done.stdout) == (0, "")
    assert (made / ".venv/.ready").stat().st_mtime_ns == ready


def test_what_was_moved_lost_its_python_or_is_of_other_versions_is_made_again(made: Path):
    there = made.parent.rename(made.parent.with_name("moved")) / made.name
    try:
        assert make(there, "env").stdout.startswith(MAKING) and make(there, "env").stdout == ""
        for python in (there / ".venv/bin").glob("python*"):
            python.unlink()
        assert make(there, "env").stdout.startswith(MAKING) and make(there, "env").stdout == ""
        (there / "constraints.txt").write_text("tiny==99\n")
        refused = make(there, "env")
        assert refused.returncode == 2 and "tiny" in refused.stdout
        assert make(there, "env", "PINS=no").returncode == 0
        assert make(there, "env", "PINS=no").stdout == ""
        assert make(there, "env").returncode == 2, "one of the newest of everything is not pinned"
    finally:
        there.parent.rename(made.parent)


@pytest.mark.parametrize("uv", ["uv", "pip"])
def test_a_failed_installation_says_why_and_is_tried_again(tmp_path: Path, uv: str):
    folder = tiny(tmp_path)
    project = folder / "pyproject.toml"
    before = project.read_text()
    project.write_text(before.replace("test = []", "test = ['no-such-package']"))
    away = {"UV_OFFLINE": "0", "PIP_NO_INDEX": "0", "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    away |= {"PIP_RETRIES": "0", "UV_HTTP_RETRIES": "0"} | ({} if uv == "uv" else {"PATH": os.defpath})
    done = make(folder, "env", **away)
    assert done.returncode == 2 and "what went wrong is said above. If it is the package index" in done.stdout
    why = "127.0.0.1:9/simple/no-such-package" if uv == "uv" else "No matching distribution found for uv"
    assert why in done.stdout
    assert not (folder / ".venv/.ready").exists()
    project.write_text(before)
    assert make(folder, "env").returncode == 0


def test_of_two_at_once_the_second_finds_it_made_and_one_that_is_killed_does_not_count(tmp_path: Path):
    folder = tiny(tmp_path)
    (folder / "wait").touch()
    killed = building(folder)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=LIMIT)
    (folder / "building").unlink()
    assert not (folder / ".venv/.ready").exists()
    both = building(folder), start(folder, "env")
    (folder / "wait").unlink()
    said = [process.communicate(timeout=LIMIT)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0].startswith(MAKING) and said[1] == ""


def building(folder: Path) -> subprocess.Popen[str]:
    """`make env`, in the middle of its work."""
    process, end = start(folder, "env"), time.monotonic() + LIMIT
    while not (folder / "building").exists():
        assert process.poll() is None, process.stdout and process.stdout.read()
        assert time.monotonic() < end
        time.sleep(0.05)
    return process


def test_a_folder_that_is_something_else_is_left_alone(tmp_path: Path):
    folder = tiny(tmp_path)
    (folder / "mine").mkdir()
    (folder / "mine/thesis.tex").touch()
    done = make(folder, "env", "VENV=mine")
    assert done.returncode == 2 and "mine is there and is not an environment" in done.stdout
    assert [path.name for path in (folder / "mine").iterdir()] == ["thesis.tex"]


def test_a_python_that_is_too_old_or_not_there_is_one_sentence(tmp_path: Path):
    folder, old = tiny(tmp_path), tmp_path / "python-old"
    pretend = "import sys, platform; sys.version_info = (3, 10); platform.python_version = lambda: '3.10'"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{pretend}; exec(sys.argv[1])" "$2"\n')
    old.chmod(0o755)
    says = {old: "it needs Python 3.11 or newer; this is 3.10. Say", "nowhere": "there is no nowhere. Say"}
    for python, why in says.items():
        done = make(folder, "env", f"PYTHON={python}")
        assert done.returncode == 2 and done.stdout.startswith(f"The environment could not be made: {why}")
        assert not (folder / ".venv").exists()


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_project_that_may_not_be_written_is_one_sentence(tmp_path: Path):
    folder = tiny(tmp_path)
    folder.chmod(0o555)
    assert "Permission denied" in make(folder, "env").stdout
