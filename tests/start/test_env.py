"""`make env`: made once, made again where it is damaged, and where it fails it says why and counts as not done."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from projects import LIMIT, load, make, start, tiny

env = load(".ci/env.py")

WAYS = [[], [".SHELLFLAGS=-c"]]  # make 3.81, as on macOS, knows no .SHELLFLAGS: no pipefail there


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny project with its environment, in a place that has a space and Chinese in its name."""
    folder = tiny(tmp_path_factory.mktemp("start") / "我的 书")
    done = make(folder, "env")
    assert done.returncode == 0, done.stdout
    assert "making the environment in .venv" in done.stdout
    return folder


def test_what_is_whole_is_left_alone_and_needs_no_network(made: Path):
    ready = (made / ".venv/.ready").stat().st_mtime_ns
    done = make(made, "env", "PYTHON=no-such-python")
    assert (done.returncode, done.stdout) == (0, "")
    assert (made / ".venv/.ready").stat().st_mtime_ns == ready
    assert not list((made / ".venv").glob(".tmp")), "pip's own folder stays behind"


def dangling(venv: Path) -> None:
    for name in ("python", "python3", *(p.name for p in venv.glob("bin/python3.*"))):
        (venv / "bin" / name).unlink(missing_ok=True)
        (venv / "bin" / name).symlink_to("/nowhere/python3")


def file_gone(venv: Path) -> None:
    next(venv.glob("lib/python*/site-packages/pip/__init__.py")).unlink()


def package_gone(venv: Path) -> None:
    shutil.rmtree(next(venv.glob("lib/python*/site-packages/tiny-1.dist-info")))


def settings_gone(venv: Path) -> None:
    (venv / "pyvenv.cfg").unlink()


def another_python(venv: Path) -> None:
    library = next(venv.glob("lib/python3.*"))
    library.rename(library.with_name("python3.1"))


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (dangling, "the Python of {} is gone"),
    (file_gone, "pip/__init__.py is missing"),
    (package_gone, "{} is not whole: tiny is missing"),
    (settings_gone, "{} is not whole"),
    (another_python, "{} is not whole: its packages are not those of Python 3"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGES, ids=lambda value: getattr(value, "__name__", ""))
def test_damage_is_noticed(made: Path, tmp_path: Path, damage: Callable[[Path], None], says: str):
    venv = Path(shutil.copytree(made / ".venv", tmp_path / ".venv", symlinks=True))
    assert "was made in another place" in (env.unusable(venv) or "")
    settings = venv / "pyvenv.cfg"
    settings.write_text(settings.read_text().replace(str(made), str(tmp_path)))
    assert env.unusable(venv) is None and env.packages(venv) >= {"pip", "tiny"}
    damage(venv)
    assert says.format(venv) in (env.unusable(venv) or "")


@pytest.mark.long
def test_only_what_the_environment_is_made_from_makes_it_again(made: Path):
    project = made / "pyproject.toml"
    project.write_text(project.read_text() + "\n[tool.pytest.ini_options]\nmarkers = ['more']\n")
    assert make(made, "env").stdout == ""
    project.write_text(project.read_text().replace('version = "1"', 'version = "2"'))
    assert "making the environment" in make(made, "env").stdout
    (made / "constraints.txt").write_text("# changed\n")
    assert "making the environment" in make(made, "env").stdout
    assert make(made, "env").stdout == ""


@pytest.mark.long
def test_a_project_that_was_moved_says_so_once_and_works_again(made: Path):
    there = made.rename(made.with_name("the book"))
    try:
        done = make(there, "env")
        assert done.returncode == 0, done.stdout
        assert re.match(r"\.venv was made in another place \(.*我的 书/\.venv\): making it again\n", done.stdout)
        assert make(there, "env").stdout == ""
    finally:
        there.rename(made)


@pytest.mark.parametrize(
    "way",
    [WAYS[0], *(pytest.param(way, marks=pytest.mark.long) for way in WAYS[1:])],
    ids=lambda way: " ".join(way) or "make",
)
def test_a_failed_installation_says_why_and_does_not_count_as_done(tmp_path: Path, way: list[str]):
    folder = tiny(tmp_path / "p")
    requirement = "no-such-package-with-a-name-that-is-longer-than-what-a-line-was-once-cut-at>=1.2.3.4.5.6.7.8"
    (folder / "requires").write_text(f"Requires-Dist: {requirement}\n")
    done = make(folder, "env", *way)
    assert done.returncode == 2
    assert f"ERROR: Could not find a version that satisfies the requirement {requirement}" in done.stdout
    assert not (folder / ".venv/.ready").exists()


@pytest.mark.long
def test_pins_hold_unless_they_are_lifted(tmp_path: Path):
    folder = tiny(tmp_path / "p")
    (folder / "constraints.txt").write_text("tiny==99\n")
    assert "tiny" in make(folder, "env").stdout and not (folder / ".venv/.ready").exists()
    assert make(folder, "env", "PINS=no").returncode == 0
    assert make(folder, "env", "PINS=no").stdout == ""
    assert "making the environment" in make(folder, "env").stdout, "one with the newest of everything is not pinned"


def test_without_a_network_it_says_so_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tiny(tmp_path / "p")
    (folder / "requires").write_text("Requires-Dist: jax\n")
    away = {"PIP_NO_INDEX": "0", "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}
    done = make(folder, "env", **away)
    assert done.returncode == 2
    sentence = "The environment could not be made: the package index could not be reached; this needs the network"
    assert done.stdout.splitlines()[1].startswith(sentence) and done.stdout.count("\n") <= 3
    proxied = [
        "Retrying (Retry(total=0, connect=None)) after connection broken by 'ProxyError('Cannot connect to proxy.'"
    ]
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert "could not be reached (through the proxy in https_proxy); this" in env._failure(proxied, "pip")
    assert not (folder / ".venv/.ready").exists()


@pytest.mark.long
def test_of_two_at_once_the_second_waits_and_finds_it_made(tmp_path: Path):
    folder = tiny(tmp_path / "p")
    (folder / "wait").touch()
    first = start(folder, "env")
    until(lambda: (folder / "building").exists(), first)
    second = start(folder, "env")
    assert second.stdout
    assert "waiting until it has finished" in second.stdout.readline()
    (folder / "wait").unlink()
    first.communicate(timeout=LIMIT)
    assert second.communicate(timeout=LIMIT)[0] == "" and (first.returncode, second.returncode) == (0, 0)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_one_that_was_ended_half_way_does_not_count_as_done(tmp_path: Path, number: signal.Signals):
    folder = tiny(tmp_path / "p")
    (folder / "wait").touch()
    process = start(folder, "env")
    until(lambda: (folder / "building").exists(), process)
    os.killpg(process.pid, number)
    said = process.communicate(timeout=LIMIT)[0]
    assert process.returncode and "Traceback" not in said
    assert not (folder / ".venv/.ready").exists()
    if number == signal.SIGKILL:
        (folder / "wait").unlink()
        assert make(folder, "env").returncode == 0


def test_a_folder_that_is_something_else_is_not_emptied(tmp_path: Path):
    folder = tiny(tmp_path / "p")
    (folder / "mine").mkdir()
    (folder / "mine/thesis.tex").touch()
    done = make(folder, "env", "VENV=mine")
    assert done.returncode == 2
    assert "mine is there and is not an environment" in done.stdout
    assert (folder / "mine/thesis.tex").exists()


@pytest.mark.long
def test_a_package_that_somebody_made_newer_stays(made: Path):
    make(made, "env")
    info = next((made / ".venv/lib").glob("python*/site-packages/tiny-1.dist-info"))
    newer = info.rename(info.with_name("tiny-2.dist-info"))
    record = newer / "RECORD"
    record.write_text(record.read_text().replace("tiny-1.dist", "tiny-2.dist"))
    assert make(made, "env").stdout == ""


def test_a_python_too_old_is_one_sentence(tmp_path: Path):
    folder, old = tiny(tmp_path / "p"), tmp_path / "python-old"
    pretend = "import sys; sys.version_info, sys.version = (3, 10, 13), '3.10.13 (main)'; exec(sys.argv[1])"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{pretend}" "$2"\n')
    old.chmod(0o755)
    done = make(folder, "env", f"PYTHON={old}")
    assert done.returncode == 2 and not (folder / ".venv").exists()
    assert done.stdout.startswith("Python 3.11 or newer is needed; this is 3.10.13. Say which one: make PYTHON=")


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_project_that_may_not_be_written_is_one_sentence(tmp_path: Path):
    folder = tiny(tmp_path / "p")
    folder.chmod(0o555)
    assert "Permission denied" in make(folder, "env").stdout


def until(reached: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is so, while the process is at work."""
    end = time.monotonic() + LIMIT
    while not reached():
        assert process.poll() is None, process.stdout and process.stdout.read()
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("words", [[], ["--help"], ["--hole", ".venv"], ["one", "two"]])
def test_words_that_it_does_not_know_make_no_folder(tmp_path, words):
    done = subprocess.run(
        [sys.executable, env.__file__, *words], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 1 and "python3 .ci/env.py .venv" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not on this machine")
def test_an_environment_that_uv_made_is_taken_as_it_is_and_mended_by_uv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tiny(tmp_path / "p")
    for command in (["venv", "--python", sys.executable, ".venv"], ["pip", "install", "--python", ".venv", "-e", "."]):
        subprocess.run(["uv", *command, "--offline", "--quiet"], cwd=folder, check=True, timeout=LIMIT)
    venv = folder / ".venv"
    assert not list(venv.glob("lib/python*/site-packages/pip"))
    monkeypatch.setattr(env, "ROOT", folder)
    assert env.is_complete(venv)
    (folder / "constraints.txt").write_text("tiny==2\n")
    assert not env.is_complete(venv)  # not as pinned
    (folder / "constraints.txt").write_text("")
    done = make(folder, "env", UV_OFFLINE="1")
    assert (done.returncode, done.stdout) == (0, "")
    assert (venv / ".ready").exists()
    (folder / "constraints.txt").write_text("# changed\n")
    done = make(folder, "env", UV_OFFLINE="1")
    assert done.returncode == 0 and "making the environment" in done.stdout, done.stdout
    assert not list(venv.glob("lib/python*/site-packages/pip")) and make(folder, "env").stdout == ""


def test_what_lacks_a_package_that_its_tests_need_is_not_complete(made: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(env, "ROOT", made)
    info = next((made / ".venv").glob("lib/python*/site-packages/tiny-1.dist-info/METADATA"))
    before = info.read_text()
    assert env.is_complete(made / ".venv")
    for line, complete in (
        ("nowhere>=1", False),
        ('nowhere>=1; extra == "test"', False),
        ('nowhere>=1; extra == "other"', True),
        ('nowhere>=1; sys_platform == "plan9"', True),
        ("pip[more]>=1", True),
    ):
        info.write_text(f"Metadata-Version: 2.1\nName: tiny\nVersion: 1\nRequires-Dist: {line}\n\n")
        assert env.is_complete(made / ".venv") is complete, line
    info.write_text(before)
