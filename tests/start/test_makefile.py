"""The Makefile works under any make, and installs nothing from the system unasked or unsaid."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from projects import LIMIT, ROOT, make

# What GNU make 3.81, which macOS has, does not know.
NEWER = r"\.SHELLFLAGS|\.ONESHELL|^\S+ *(?:!=|::=)|\$\((?:file|guile|let|intcmp) |^undefine|^private|&:"


def test_the_makefile_needs_nothing_that_an_old_make_does_not_know_and_make_alone_lists_its_targets():
    text = (ROOT / "Makefile").read_text()
    assert re.findall(NEWER, text, re.M) == []
    assert "pipefail" not in text and not re.search(r"^\t.*pip\b.*\|", text, re.M), "an old make loses a pipe's failure"
    targets = re.search(r"^\.PHONY: (.*)", text, re.M)[1].split()
    assert sorted(re.findall(r"^make (\S+) +\S", make(ROOT).stdout, re.M)) == sorted(targets)


def test_no_target_but_test_installs_anything_on_the_machine_and_that_before_it_starts():
    for target in ("test SYSTEM=no", "test-long", "check", "book", "learn", "env"):
        done = make(ROOT, "-n", *target.split())
        assert done.returncode == 0, done.stdout
        assert not re.search(r"\.ci/system(?! --missing)|apt-get", done.stdout)
        assert ("--missing" in done.stdout) == (target == "test SYSTEM=no")
    said = make(ROOT, "-n", "test").stdout
    assert 0 < said.index("sh .ci/system") < said.index("-m pytest")


def test_what_must_pass_is_what_anybody_runs_and_a_part_of_the_long_tests_is_asked_of_pytest_split():
    assert re.findall(r"^make (.*)$", (ROOT / ".ci/run").read_text(), re.M) == ["test"]
    assert re.search(r"--group 2\s+--splits 3", make(ROOT, "-n", "test-long", "PART=2/3").stdout)
    assert "--group" not in make(ROOT, "-n", "test-long").stdout


def test_what_is_missing_is_said_and_nothing_is_installed(tmp_path: Path):
    said = system(tmp_path, "--missing")
    assert said.startswith("missing, the tests that need them are skipped") and "  tmux: types into the" in said
    assert not (tmp_path / "asked").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root may install")
def test_what_fails_to_install_is_said_and_no_link_is_followed(tmp_path: Path):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "apt.log").symlink_to(precious)
    said = system(tmp_path)
    assert said.index("chromium: looks at the built pages\n") < said.index("E: no such luck"), "what for, and before"
    assert "skipped: could not install chromium tmux" in said
    assert "update" in (tmp_path / "asked").read_text()
    assert precious.read_text() == "precious"
    assert "/tmp/" not in (ROOT / ".ci/system").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["apt.log", "asked", "bin", "precious"]


def system(tmp_path: Path, *arguments: str) -> str:
    """What `.ci/system` says on a machine that has the usual programs, an apt-get that fails, and none of ours."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "apt-get").write_text(
        f'#!/bin/sh\necho "$@" >>"{tmp_path}/asked"\necho "E: no such luck" >&2\nexit 1\n'
    )
    (programs / "apt-get").chmod(0o755)
    for name in ("sh", "id", "grep", "tail", "rm", "mktemp", "echo"):
        (programs / name).symlink_to(f"/bin/{name}")
    script = (ROOT / ".ci/system").read_text().replace(":/usr/sbin:/sbin", "")
    env = {"PATH": str(programs), "TMPDIR": str(tmp_path)}
    command = ["/bin/sh", "-c", script, "system", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT)
    return done.stdout + done.stderr
