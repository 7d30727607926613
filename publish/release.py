"""python -m publish.release v1.2.3: print each problem of this release; if there is none, make its wheel and its notes.

They are written to _build/release/. `make release-check` runs this first, then the tests of that wheel; .ci/release
then makes the PDF and the EPUB. Nothing is uploaded. A tag that does not exist yet is a rehearsal.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml

from publish import files, package
from publish.outputs import ledger
from publish.page import ROOT, show


def main(arguments: list[str] | None = None) -> int:
    tag = " ".join(sys.argv[1:] if arguments is None else arguments)
    if wrong := list(problems(tag)):
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    build, release = ROOT / "_build", ROOT / "_build" / "release"
    try:
        shutil.rmtree(release, ignore_errors=True)
        package.write(build)
        files.write(release / "notes.md", section(tag.removeprefix("v"), ROOT) or "")
        for name in package.filenames():
            shutil.copy(build / "html" / name, release)
    except (OSError, RuntimeError) as error:
        print(f"the release cannot be made: {error}", file=sys.stderr)
        return 1
    if not _git(ROOT, "tag", "--list", tag):
        print(f"there is no tag {tag} yet: this is a rehearsal")
    print(f"{show(release / package.filename())}, {package.minipods()} and notes.md are made")
    return 0


def problems(tag: str, root: Path = ROOT) -> Iterator[str]:
    """Yield a sentence for each reason why the commit that is checked out cannot be released as this tag."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        yield f"“{tag}” is not a release tag: write it as v1.2.3 (make release-check TAG=v1.2.3)"
        return
    version = tag.removeprefix("v")
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    cited = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))["version"]
    for name, stated in (("pyproject.toml", project), ("CITATION.cff", cited)):
        if stated != version:
            yield f"{name} has version {stated}, but the tag is {tag}: change one of them"
    notes = section(version, root)
    if notes is None:
        yield f"CHANGELOG.md has no section `## {version}, YEAR-MONTH-DAY`: rename `[Unreleased]` to that"
    elif not notes:
        yield f"section {version} of CHANGELOG.md is empty: say what users will notice"
    if other := ledger.pages_of_other_versions(root):
        yield f"not recorded with the versions of {ledger.LEDGER}: {', '.join(other)}; see RELEASING.md"
    try:
        changed = _git(root, "status", "--porcelain").splitlines()
        of_tag, here = _git(root, "rev-list", "-n1", tag, "--"), _git(root, "rev-parse", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        yield f"{show(root)} is not a git checkout: a release is made from a commit"
        return
    if changed:
        more = f" and {len(changed) - 1} more" if changed[1:] else ""
        yield f"the files differ from the commit ({changed[0][3:]}{more}): commit or remove the changes"
    if of_tag and of_tag != here:
        yield f"{tag} is not the commit that is checked out: git checkout {tag}"


def section(version: str, root: Path) -> str | None:
    """Return the section of CHANGELOG.md on a version that has a date; None if there is none."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    match = re.search(rf"^## {re.escape(version)}, \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return match and match[1].strip()


def _git(root: Path, *command: str) -> str:
    """Return git's output; for `rev-list`, nothing if there is no such tag."""
    done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode and command[0] != "rev-list":
        done.check_returncode()
    return done.stdout.strip("\n") if done.returncode == 0 else ""


if __name__ == "__main__":
    sys.exit(main())
