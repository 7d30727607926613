"""What is wrong with a release is said in a sentence each, before anything is built."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from publish import files, release
from publish.outputs import recordings

TAG = "v1.2.3"
CHANGES = (
    "# Changes\n\n## [Unreleased]\n\n## 1.2.3, 2027-01-31\n\n- More.\n- And more.\n\n## 1.2.2, 2026-12-24\n\n- Less.\n"
)


def git(folder: Path, *command: str) -> str:
    own = ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *own, *command], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of which nothing keeps version 1.2.3."""
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "CITATION.cff").write_text("version: 1.2.3\n")
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    return tmp_path


def write(name: str, text: str):
    return lambda folder: files.write(folder / name, text)


def record_otherwise(folder: Path) -> None:
    made = recordings.now()
    write("book/recordings.toml", "[pages]\nversions = { jax = '99' }\n")(folder)
    for name, jax in (("ch01", "99"), ("ch02", made.packages["jax"])):
        text = json.dumps({"made": {**vars(made), "packages": {"jax": jax}}})
        write(f"book/outputs/{name}.json", text)(folder)


def tag_elsewhere(folder: Path) -> None:
    git(folder, "tag", TAG)
    git(folder, "commit", "-q", "--allow-empty", "-m", "more")


UNTOLD = "CHANGELOG.md has no section `## 1.2.3, YEAR-MONTH-DAY`"
WRONG = {
    "another version": (write("pyproject.toml", '[project]\nversion = "1.2.2"\n'), "pyproject.toml has version 1.2.2"),
    "cited otherwise": (write("CITATION.cff", "version: 1.2.0\n"), "CITATION.cff has version 1.2.0, but the tag is v1"),
    "no section": (write("CHANGELOG.md", "## [Unreleased]\n\n- More.\n"), UNTOLD),
    "no day": (write("CHANGELOG.md", "## 1.2.3, not released yet\n\n- More.\n"), UNTOLD),
    "nothing said": (write("CHANGELOG.md", CHANGES.replace("- More.\n- And more.\n", "")), "is empty: say what users"),
    "a new file": (write("notes.txt", "x"), "the files differ from the commit (notes.txt): commit or remove"),
    "an older recording": (record_otherwise, "with the versions of book/recordings.toml: ch02; see RELEASING.md"),
    "a tag elsewhere": (tag_elsewhere, "v1.2.3 is not the commit that is checked out: git checkout v1.2"),
    "no checkout": (lambda folder: shutil.rmtree(folder / ".git"), "is not a git checkout: a release is made from"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_sentence(project: Path, name: str):
    spoil, says = WRONG[name]
    spoil(project)
    if name not in ("a new file", "no checkout"):
        git(project, "add", ".")
        git(project, "commit", "-q", "--allow-empty", "-m", "spoilt")
    (said,) = release.problems(TAG, project)
    assert says in said


def test_a_release_in_order_has_nothing_to_say_and_its_notes_are_its_section(project: Path):
    assert list(release.problems(TAG, project)) == []
    git(project, "tag", TAG)
    assert list(release.problems(TAG, project)) == []
    assert release.section("1.2.3", project) == "- More.\n- And more."
    assert release.section("1.2.2", project) == "- Less."


def test_a_tag_that_is_no_version_is_refused_before_all_else(capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.setattr(release.shutil, "rmtree", lambda *_: pytest.fail("it is made"))
    for tag in ("1.2.3", "v1.2", "", "latest"):
        assert release.main([tag]) == 1
        said = f"“{tag}” is not a release tag: write it as v1.2.3 (make release-check TAG=v1.2.3)\n"
        assert capsys.readouterr().err == said
