"""Control groups of the sandboxes: real ones where this process may make some, else folders that look like theirs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from grader.classroom.sandbox import shares


def test_a_command_runs_in_a_group_of_its_own_which_is_gone_afterwards():
    with shares.made() as share:
        if share is None:
            pytest.skip("no control groups can be made here")
        command = share.enter(["sh", "-c", "cat /proc/self/cgroup"])
        other = share.enter(["cat", "/proc/self/cgroup"])
        said = [subprocess.run(line, capture_output=True, text=True, check=True).stdout for line in (command, other)]
        groups = [{word for word in text.replace("\n", "/").split("/") if word.startswith("minipod-")} for text in said]
        assert all(groups) and groups[0] != groups[1]
        above = share._above
    assert [path for path in above.glob("minipod-*") if path.is_dir() and str(os.getpid()) in path.name] == []


def fake(root: Path, group: str, mounts: str, controllers: str = "cpu memory") -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(group)
    (root / "proc/self/mounts").write_text(mounts)
    place = root / "sys/fs/cgroup/user.slice/me"
    place.mkdir(parents=True)
    (place / "cgroup.controllers").write_text(controllers)
    return place


def emptied(place: Path) -> None:
    """The kernel removes a group with what stands in it."""
    for group in place.glob("minipod-*"):
        shutil.rmtree(group)


def test_in_the_second_version_we_leave_the_group_that_shares_out(tmp_path: Path):
    place = fake(tmp_path, "0::/user.slice/me\n", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n")
    with shares.made(tmp_path) as share:
        assert share is not None
        leaf = place / f"minipod-{os.getpid()}"
        assert (leaf / "cgroup.procs").read_text() == str(os.getpid())
        assert (place / "cgroup.subtree_control").read_text() == "+cpu"
        line = share.enter(["true"])
        assert line[:2] == ["/bin/sh", "-c"] and line[-1] == "true" and Path(line[3]).parent.parent == place
        emptied(place)
        leaf.mkdir()
    assert (place / "cgroup.subtree_control").read_text() == "-cpu"
    assert (place / "cgroup.procs").read_text() == str(os.getpid()) and not leaf.exists()


def test_where_no_group_can_be_made_commands_stay_as_they_are(tmp_path: Path):
    for n, (group, mounts, controllers) in enumerate(
        [
            ("0::/user.slice/me\n", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "memory pids"),
            ("0::/user.slice/me\n", "cgroup2 /sys/fs/cgroup cgroup2 ro 0 0\n", "cpu"),
            ("0::/elsewhere\n", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "cpu"),
            ("", "", "cpu"),
        ]
    ):
        fake(tmp_path / str(n), group, mounts, controllers)
        with shares.made(tmp_path / str(n)) as share:
            assert share is None


def test_the_first_version_needs_no_group_of_ours(tmp_path: Path):
    place = fake(tmp_path, "4:cpu,cpuacct:/user.slice/me\n", "cgroup /sys/fs/cgroup cgroup rw,cpu,cpuacct 0 0\n")
    (place / "cgroup.procs").write_text("")
    with shares.made(tmp_path) as share:
        assert share is not None and Path(share.enter(["true"])[3]).parent.parent == place
        emptied(place)
    assert list(place.glob("minipod-*")) == []
