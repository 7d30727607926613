"""Workflows, citation, changelog and both guides for contributors name what is there, and the same version."""

import io
import json
import os
import re
import runpy
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
def test_a_workflow_runs_what_there_is_may_write_only_where_a_job_says_so_and_ends(path):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    for command in [step["run"] for step in steps(path) if "run" in step]:
        for words in re.findall(r"\bmake ([^\n&|;]+)", re.sub(r"\${{.*?}}|\"[^\"]*\"", "", command)):
            assert {word for word in words.split() if "=" not in word} <= targets, command
        assert all((ROOT / script).is_file() for script in re.findall(r"\.ci/\w+", command)), command
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "timeout-minutes" in job or "needs" in job or job["uses"].startswith("./.github/workflows/")
        if parts := job.get("strategy", {}).get("matrix", {}).get("part"):  # they are all of it
            numbers = [part for part in parts if "/" in part]
            assert numbers == [f"{k + 1}/{len(numbers)}" for k in range(len(numbers))] and job["timeout-minutes"] <= 45
            assert set(parts) - set(numbers) <= {"cells", "tests"}
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
    shown = [(ROOT / guide).read_text("utf-8").split("```")[1] for guide in GUIDES]
    blocks = [re.findall(r"^([^\s#].*?)(?:\s+#.*)?$", block, re.M) for block in shown]
    assert blocks[0][1:] == blocks[1][1:]


@pytest.mark.parametrize(
    ("part", "fails", "sections"),
    [("", "env", 4), ("cells", "verify", 2), ("tests", "", 2), ("2/3", "test-long", 2)],
)
def test_the_weekly_report_quotes_what_fails_and_nothing_else(tmp_path, part, fails, sections):
    (tmp_path / ".ci").mkdir()
    for script in ("weekly", "newest"):
        shutil.copy(ROOT / ".ci" / script, tmp_path / ".ci")
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$1 says: ch04_jit, cell 7 differs $2"; test "$1" != "{fails}"\n')
    make.chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = ["bash", ".ci/weekly", *filter(None, [part])]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    report = (tmp_path / "_build/weekly.md").read_text()
    assert (done.returncode, done.stdout) == (bool(fails), report)
    assert report.count("ch04_jit, cell 7 differs") == bool(fails) and report.count("\n## ") == sections
    assert not fails or re.search(rf"failed\n\n```text\nwith .*\n{fails} says: ch04_jit", report)
    assert ("PART=2/3" in report) == (part == "2/3")


RUNS = "actions/workflows/{}.yml/runs?head_sha={}&status=success"


@pytest.mark.parametrize(
    ("tree", "by_pull", "by_main", "passed"),
    [("same", 1, 0, True), ("other", 1, 0, False), ("same", 0, 0, False), ("other", 0, 1, True), (None, 1, 0, False)],
)
def test_what_a_pull_request_has_tested_is_not_tested_again(tree, by_pull, by_main, passed, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    names = ["git", "rev-parse", "HEAD", "HEAD^{tree}"]
    commit, same = subprocess.run(names, check=True, capture_output=True, text=True).stdout.split()
    known = {  # what GitHub answers
        RUNS.format("book", commit): {"total_count": by_main},
        RUNS.format("tests", "head"): {"total_count": by_pull},
        f"commits/{commit}/pulls": [{"head": {"sha": "head"}}],
    }
    if tree:  # else GitHub fails in the middle
        known["git/commits/head"] = {"tree": {"sha": same if tree == "same" else "f" * 40}}

    def answer(request, timeout):
        path = request.full_url.removeprefix("https://api/repos/me/book/")
        if path not in known:
            raise OSError("404")
        return io.StringIO(json.dumps(known[path]))

    monkeypatch.setattr("urllib.request.urlopen", answer)
    for name, value in {"GITHUB_API_URL": "https://api", "GITHUB_REPOSITORY": "me/book", "GH_TOKEN": "secret"}.items():
        monkeypatch.setenv(name, value)
    runpy.run_path(".ci/tested")
    out, err = capsys.readouterr()
    assert out == f"passed={str(passed).lower()}\n", err
    assert ("did not say" in err) == (tree is None) and "secret" not in err
