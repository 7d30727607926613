"""Hosts on this machine are apart, joined by cables as slow as asked for, and leave nothing behind."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from cluster_programs import PSUM
from still_running import until

from minipod import hosts
from minipod.__main__ import main
from minipod.hosts import namespaces

WHY_NOT = hosts.why_not(delay=True)
needs_hosts = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")

WHERE = """
import os, socket
name = socket.gethostname()
print(name, socket.gethostbyname(name), socket.gethostbyname("host1"), os.getcwd())
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("where", WHERE), ("psum", PSUM)):
        Path(f"{name}.py").write_text(text)
    return tmp_path


def holders() -> set[int]:
    """The processes of this folder, a test's own, that have another network than this one."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # ended meanwhile
            ours = process.cwd() == os.getcwd()  # other labs may be at work on this machine
            if ours and os.readlink(f"/proc/{process.pid}/ns/net") != os.readlink("/proc/self/ns/net"):
                found.add(process.pid)
    return found


@pytest.fixture
def nothing_left():
    """The test leaves no interface and no process in another network."""
    before = {*socket.if_nameindex()}, holders()
    yield
    assert until(lambda: {*socket.if_nameindex()} <= before[0] and holders() <= before[1])


@pytest.mark.long
@needs_hosts
def test_a_program_of_any_cluster_computes_across_hosts_and_listens_inside_their_own_network(nothing_left):
    with hosts.lab() as lab:
        before = lab.sent()
        said = [text.replace(" 127.0.0.1", "") for text in lab.run("psum.py", devices=4).outputs]
        assert said == [f"8.0 {i} 2 host{i} 10.77.0.{i + 1}\n" for i in range(2)]
        assert all(b > a for a, b in zip(before, lab.sent(), strict=True))


KILLED = """
import os, signal, sys
from minipod import hosts
with hosts.lab(delay="1ms") as lab:
    print("up", flush=True)
    lab.run("sleep.py", limit=100)
"""


@needs_hosts
def test_nothing_is_left_when_the_parent_is_killed(here: Path, nothing_left):
    Path("sleep.py").write_text("import time; open(f'began-{__import__(\"os\").getpid()}', 'w'); time.sleep(100)")
    before = holders()
    parent = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE)
    assert parent.stdout and parent.stdout.readline() == b"up\n"
    assert until(lambda: len(list(here.glob("began-*"))) == 2)
    assert until(lambda: len(holders() - before) >= 5)  # two hosts, the switch, the programs
    parent.kill()
    parent.communicate()


@needs_hosts
def test_run_makes_hosts_for_one_program_each_with_a_name_and_an_address_that_the_others_know(
    here, capfd, nothing_left
):
    assert main(["hosts", "run", "-n", "3", "-d", "1", "where.py"]) == 0
    expected = [f"[{i}] host{i} 10.77.0.{i + 1} 10.77.0.2 {here}" for i in range(3)]
    assert sorted(capfd.readouterr().out.splitlines()) == expected
    assert main(["hosts", "run", "nope.py"]) == 2
    assert "nope.py: there is no such program" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--rate=1kbit"], "rate 1kbit: choose between 100kbit and 100gbit"),
        (["--delay=-5ms"], "delay '-5ms': give a number with its unit (us, ms, s)"),
        (["--delay=2s"], "delay 2s: choose at most 1s"),
        ([], "simulated hosts need the command ip: install it (Debian's package iproute2)\n"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_exit_2(options, says, monkeypatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(namespaces.sys, "platform", "linux")
    monkeypatch.setattr(namespaces.shutil, "which", lambda name, path: None if name == "ip" else f"/bin/{name}")
    assert main(["hosts", "run", *options, "where.py"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"minipod: {says}") and error.count("\n") == 1
    monkeypatch.setattr(namespaces.sys, "platform", "darwin")
    assert hosts.why_not() == "simulated hosts need Linux"


@pytest.mark.skipif(sys.platform != "linux", reason="the rehearsal runs only on Linux")
def test_a_machine_that_refuses_is_quoted(monkeypatch: pytest.MonkeyPatch, here: Path):
    refuse = here / "unshare"
    refuse.write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
    refuse.chmod(0o755)
    for name in ("ip", "tc", "nsenter", "hostname"):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
    monkeypatch.setenv("PATH", f"{here}:{os.environ['PATH']}")
    with pytest.raises(PermissionError, match="cannot be made here .unshare: unshare failed: Operation not permitted"):
        with hosts.lab():
            pass


@needs_hosts
def test_a_delay_without_its_device_is_explained(monkeypatch: pytest.MonkeyPatch, here: Path):
    monkeypatch.setattr(namespaces, "TUN", here / "tun")
    with pytest.raises(PermissionError, match="a delay needs .*tun, which is missing"), hosts.lab(delay="1ms"):
        pass
    with hosts.lab():
        pass
