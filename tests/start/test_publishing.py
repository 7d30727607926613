"""Workflows, citation, changelog and both guides for contributors name what is there, and the same version."""

import os
import re
import shutil
import subprocess
import tomllib

import pytest
import yaml

from publish.page import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
GUIDES = ("CONTRIBUTING.md", "CONTRIBUTING.zh-Hans.md")


def steps(path):
    """The steps of all jobs."""
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job.get("steps", [])]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_a_workflow_runs_what_the_makefile_has(path):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    commands = [step["run"] for step in steps(path) if "run" in step]
    for command in commands:
        for words in re.findall(r"\bmake ([^\n&|;]+)", command):
            assert {word for word in words.split() if "=" not in word} <= targets, command
        for script in re.findall(r"\.ci/\w+", command):
            assert (ROOT / script).is_file(), command


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_a_workflow_may_write_only_where_a_job_says_so_and_ends(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "timeout-minutes" in job or "needs" in job or job["uses"] == "./.github/workflows/tests.yml"
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in steps(path) if "uses" in step)


def test_the_citation_and_the_changelog_are_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == VERSION and citation["cff-version"] == "1.2.0"
    sections = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    released = [section for section in sections if section != "[Unreleased]"]
    assert sections[0] == "[Unreleased]" or released
    assert all(re.fullmatch(r"\d+\.\d+\.\d+, \d{4}-\d\d-\d\d", section) for section in released)
    assert not released or released[0].partition(",")[0] == VERSION


@pytest.mark.parametrize("name", ["book", "release"])
def test_nothing_is_published_before_the_tests_have_passed(name):
    jobs = yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text("utf-8"))["jobs"]
    tests = [key for key, job in jobs.items() if job.get("uses") == "./.github/workflows/tests.yml"]

    def waits(job):
        needs = jobs[job].get("needs", [])
        return any(n in tests or waits(n) for n in ([needs] if isinstance(needs, str) else needs))

    writing = [key for key, job in jobs.items() if "write" in job.get("permissions", {}).values()]
    assert tests and writing and all(waits(job) and "if" not in jobs[job] for job in writing)


def test_both_guides_for_contributors_name_the_same_commands_and_files():
    def named(guide):
        text = (ROOT / guide).read_text("utf-8")
        spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
        return {s for s in spans if not re.search(r"--only|^only = |^[a-z]{2}(-Hans)?$|….", s)}

    here, there = map(named, GUIDES)
    assert here == there
    blocks = [
        re.findall(r"^([^\s#].*?)(?:\s+#.*)?$", (ROOT / g).read_text("utf-8").split("```")[1], re.M) for g in GUIDES
    ]
    assert blocks[0][1:] == blocks[1][1:]


@pytest.mark.parametrize("fails", ["", "verify", "env-newest"])
def test_the_weekly_report_quotes_what_fails_and_nothing_else(tmp_path, fails):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/weekly", tmp_path / ".ci")
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$1 says: ch04_jit, cell 7 differs"; test "$1" != "{fails}"\n')
    make.chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", ".ci/weekly"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    report = (tmp_path / "_build/weekly.md").read_text()
    assert (done.returncode, done.stdout) == (bool(fails), report)
    assert report.count("ch04_jit, cell 7 differs") == bool(fails) and report.count("\n## ") == 4
    assert not fails or f"failed\n\n```text\n{fails} says: ch04_jit" in report
