"""Chapter 24: the workflow that one copies, as YAML, with its shell lines run; what figures.py says of two commits."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import yaml

from publish.page import ROOT

LESSON = ROOT / "lessons/ch24_your_program"
FLOW = yaml.safe_load((LESSON / "tests.yml").read_text("utf-8"))


def git(folder: Path, *words: str) -> str:
    author = ["-c", "user.name=you", "-c", "user.email=you@example.com", "-c", "init.defaultBranch=main"]
    return subprocess.check_output(["git", *author, *words], cwd=folder, text=True).strip()


def keep(folder: Path, name: str, **programs: dict[str, int]) -> None:
    (folder / "plans").mkdir(exist_ok=True)
    text = json.dumps({program: {"jax 1, cpu": figures} for program, figures in programs.items()})
    (folder / "plans" / name).write_text(text)


@pytest.fixture
def repository(tmp_path):
    """Two commits: a figure changes, a program is new, a file goes, a file comes; one figure stays."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "figures.py").write_bytes((LESSON / "figures.py").read_bytes())
    keep(tmp_path, "test_a.json", step={"sent by all-reduce": 14343, "arguments": 16})
    keep(tmp_path, "test_gone.json", old={"arguments": 8})
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "before")
    keep(tmp_path, "test_a.json", step={"sent by all-reduce": 28686, "arguments": 16}, more={"arguments": 4})
    (tmp_path / "plans/test_gone.json").unlink()
    keep(tmp_path, "test_new.json", new={"temporaries": 2000})
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "-m", "after")
    return tmp_path


ROWS = [
    "| more | jax 1, cpu | arguments | – | 4 |",
    "| new | jax 1, cpu | temporaries | – | 2,000 |",
    "| old | jax 1, cpu | arguments | 8 | – |",
    "| step | jax 1, cpu | sent by all-reduce | 14,343 | 28,686 |",
]


def test_figures_of_two_commits(repository):
    def said(before):
        return subprocess.check_output([sys.executable, "figures.py", before], cwd=repository, text=True)

    assert sorted(said("HEAD~1").splitlines()[2:]) == ROWS
    assert said("HEAD") == ""


def test_the_workflow_uses_no_action_of_others_and_the_versions_of_the_book():
    steps = [step for job in FLOW["jobs"].values() for step in job["steps"]]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    assert all(step["uses"].startswith("actions/") for step in steps if "uses" in step)
    pages = tomllib.loads((ROOT / "book/recordings.toml").read_text("utf-8"))["pages"]
    rows = FLOW["jobs"]["tests"]["strategy"]["matrix"]["include"]
    assert [(r["python"], r["jax"]) for r in rows] == [
        (pages[which]["python"], pages[which]["jax"]) for which in ("oldest", "versions")
    ]
    assert FLOW["permissions"] == {"contents": "read"}  # only one job may write, and only comments
    assert FLOW["jobs"]["figures"]["permissions"] == {"contents": "read", "pull-requests": "write"}


@pytest.mark.parametrize("fork", [False, True])
def test_the_shell_lines_of_the_second_job_comment_where_they_may(repository, fork):
    (repository / "gh").write_text(f'#!/bin/sh\necho "$@" > "{repository}/asked"\n')
    (repository / "gh").chmod(0o755)
    env = {
        "PATH": f"{repository}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BASE": git(repository, "rev-parse", "HEAD~1"),
        "NUMBER": "7",
        "GH_REPO": "we/ours",
        "FROM": "they/theirs" if fork else "we/ours",
        "GITHUB_STEP_SUMMARY": str(repository / "summary"),
    }
    assert set(FLOW["jobs"]["figures"]["env"]) == {"BASE", "FROM", "NUMBER", "GH_TOKEN", "GH_REPO"}
    for step in FLOW["jobs"]["figures"]["steps"]:
        if "run" in step:  # as GitHub runs it
            subprocess.run(["bash", "-e", "-c", step["run"]], cwd=repository, env=env, check=True)
    assert sorted((repository / "summary").read_text().splitlines()[2:]) == ROWS
    asked = [path.read_text() for path in repository.glob("asked")]
    assert asked == ["pr comment 7 --edit-last --create-if-none --body-file figures.md\n"] * (not fork)


def test_another_file_of_arrays_in_the_folder_is_no_checkpoint(tmp_path, lesson):
    train = lesson("ch24_your_program", "train")
    state = train.start()
    train.save(tmp_path, state, 4)
    np.savez(tmp_path / "start.npz", np.ones(3))
    assert train.newest(tmp_path, state)[1] == 4
