"""The wheel and the source distribution are whole: what works in a checkout works from them, in an empty folder."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest
from projects import ROOT, copy, exercises
from recorded_programs import RECORDED

from grader.exercise.chapters import given_out
from publish import package

LIMIT = 600
OF_MINIPOD = ("CHANGELOG.md", "LICENSE", "README.md", "py.typed", "pyproject.toml")
CARRIED = ("grader", "lessons", "solutions")  # by the book's package; minipod by its own


def files(*folders: str) -> set[str]:
    """The project's files below these folders, as paths from its root."""
    found = {p.relative_to(ROOT) for folder in folders for p in (ROOT / folder).rglob("*") if p.is_file()}
    return {str(p) for p in found if not any(part.startswith((".", "__pycache__")) for part in p.parts)}


def run(*command: object, cwd: Path, code: int = 0, stdin: str = "", **variables: str) -> str:
    """What a command prints, without this project on its path."""
    env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "en_US.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"} | variables
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "timeout": LIMIT}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, input=stdin, **kept)
    assert done.returncode == code, done.stdout
    return done.stdout


def test_each_kind_of_file_is_packaged():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    kinds = ["*.py", *settings["package-data"]["*"]]
    assert [f for f in sorted(files(*CARRIED)) if not any(fnmatch(f, kind) for kind in kinds)] == []
    assert {*settings["packages"]["find"]["include"]} == {f"{name}*" for name in CARRIED[:-1]} | {"solutions"}


def test_minipods_own_project_names_each_of_its_packages():
    settings = tomllib.loads((ROOT / "minipod/pyproject.toml").read_text())["tool"]["setuptools"]
    found = {str(p.parent.relative_to(ROOT)).replace("/", ".") for p in (ROOT / "minipod").rglob("__init__.py")}
    assert {*settings["packages"]} == {name for name in found if ".build." not in name}
    others = {name for name in files("minipod") if not name.endswith(".py")} - {f"minipod/{n}" for n in OF_MINIPOD}
    assert {name for name in others if ".egg-info/" not in name and "/build/" not in name} == set()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("WHEEL"):  # the one that a release would attach
        return Path(given).resolve()
    above = tmp_path_factory.mktemp("wheel")
    package.write(above)
    return above / "html" / package.filename()  # minipod's lies beside it


def installed(venv: Path, wheel: Path, extra: str = "") -> Path:
    """A Python with this wheel and what it depends on. Skips where no package index is in reach."""
    subprocess.run([sys.executable, "-m", "venv", venv], check=True, timeout=LIMIT)
    command = [venv / "bin/python", "-m", "pip", "-q", "install", "--retries", "1", "--find-links", wheel.parent]
    done = subprocess.run([*command, f"{wheel}{extra}"], capture_output=True, text=True, timeout=LIMIT)
    if done.returncode and "connection broken" in done.stderr:
        pytest.skip("no package index can be reached, and the wheel's dependencies come from there")
    assert done.returncode == 0, done.stderr
    return venv / "bin/python"


@pytest.mark.long
def test_the_wheel_carries_every_file(wheel: Path):
    carried = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert carried == {*files(*CARRIED)}


@pytest.mark.long
def test_minipod_alone_brings_nothing_of_the_book_and_says_what_else_to_install(wheel: Path, tmp_path: Path):
    bare = installed(tmp_path / "bare", wheel.with_name(package.minipods()))
    minipod = bare.with_name("minipod")
    there = re.findall(r"^([\w.-]+)", run(bare, "-m", "pip", "list", "--format=freeze", cwd=tmp_path), re.M)
    others = {"pytest", "textual", "graphviz", "wasmtime", "orbax-checkpoint", "cloudpickle", "packaging"}
    assert not {*there} & {*others, "one-program-many-devices"}
    version = tomllib.loads((ROOT / "minipod/pyproject.toml").read_text())["project"]["version"]
    assert run(minipod, "--version", cwd=tmp_path) == f"minipod {version}\n"
    report = run(minipod, "doctor", cwd=tmp_path)
    assert f"✓ minipod      {version}\n" in report and "add 1 and 1 to 2.0, 2.0" in report
    assert "Graphviz: some pictures cannot be drawn without it: `pip install graphviz" in report
    (tmp_path / "layer.hlo").write_text(RECORDED["cpu-0.12-layer"])
    table = run(minipod, "traffic", "layer.hlo", cwd=tmp_path)
    assert "all-reduce" in table and "bytes" in table
    said = run(minipod, "run", "-n", "2", "-d", "2", ROOT / "lessons/ch10_processes/hello.py", cwd=tmp_path)
    assert "[1] I am process 1 of 2" in said and re.search(r"\[1\] all: +\[\d+(, \d+){3}\]", said)
    run(bare, "-c", "import minipod.pods, minipod.hosts, minipod.roofline", cwd=tmp_path)
    said = run(minipod, "draw", cwd=tmp_path, code=2)
    assert said.startswith("minipod: packages for pictures are missing: `pip install graphviz")


@pytest.mark.long
@pytest.mark.rarely
def test_the_book_without_its_extras_says_what_else_to_install(wheel: Path, tmp_path: Path):
    base = installed(tmp_path / "base", wheel)
    said = run(base, "-m", "lessons", "learn", cwd=tmp_path, code=2)
    assert said.startswith("This needs packages that are not installed: run `pip install pytest textual")
    assert said.count("\n") == 1


@pytest.mark.long
def test_an_installed_package_checks_answers_in_the_current_folder(wheel: Path, tmp_path: Path, tmp_path_factory):
    python = installed(tmp_path_factory.mktemp("learn"), wheel, "[learn]")
    library = next(python.parents[1].glob("lib/python*/site-packages"))
    before = {p: p.stat().st_mtime_ns for p in library.rglob("*") if p.is_file()}

    said = run(python, "-m", "lessons", "check", "ch01", cwd=tmp_path, code=1)
    assert "were copied to answers/: write your answers there" in said
    assert f"exercises checked here: 0 of {exercises('ch01_devices')} solved ({exercises()} in all)" in said
    assert len(list((tmp_path / "answers").glob("ch*.py"))) == len(given_out(ROOT / "lessons", "exercises.py"))

    tried = ("ch01_devices", "ch09_training", "ch10_processes")
    for chapter in tried:  # plain; with a text to read; in processes
        (tmp_path / f"answers/{chapter}.py").write_bytes((ROOT / f"solutions/{chapter}.py").read_bytes())
    several = exercises(*tried)
    said = run(python, "-m", "lessons", "check", "ch01", "ch09", "ch10", "--limit=300", cwd=tmp_path)
    assert f"exercises checked here: {several} of {several} solved" in said

    name = "devices_by_host"
    (tmp_path / "answers/ch01_devices.py").write_text(f"def {name}(devices, platform):\n    return {{}}\n")
    said = run(python, "-m", "lessons", "check", "ch01", "-k", name, cwd=tmp_path, code=1)
    assert f"wrong  ch01_devices/{name}" in said and "answers/ch01_devices.py:1" in said

    said = run(python, "-m", "lessons", "learn", "--plain", cwd=tmp_path, stdin="q\n")
    assert f"of {exercises()} solved" in said
    assert {p: p.stat().st_mtime_ns for p in library.rglob("*") if p.is_file()} == before
    assert {p.name for p in tmp_path.iterdir()} == {"answers", ".cache", ".pytest_cache"}

    for words, beginning in (
        ("book", "To build the pages of the book, run `make book` in a checkout of the project"),
        ("class answers", "To check a class, use a checkout of the project"),
        ("check ch99", "There is no chapter ch99; choose from ch01_devices, "),
    ):
        assert beginning in run(python, "-m", "lessons", *words.split(), cwd=tmp_path, code=2), words


@pytest.mark.long
@pytest.mark.rarely
def test_a_class_is_checked_from_a_checkout_with_what_its_extra_brings(wheel: Path, tmp_path: Path):
    python = installed(tmp_path / "class", wheel, "[class]")
    project = copy(tmp_path / "project")
    (project / "submissions/ada").mkdir(parents=True)
    shutil.copy(ROOT / "solutions/ch01_devices.py", project / "submissions/ada")
    said = run(python, "-m", "lessons", "class", "submissions", cwd=project)
    table = (project / "class-report/class.csv").read_text("utf-8-sig")
    assert "ada" in table and table.count("right") >= exercises("ch01_devices"), said + table


@pytest.mark.long
@pytest.mark.rarely
def test_the_source_distribution_is_the_project(tmp_path: Path):
    project = copy(tmp_path / "project")
    there = {str(p.relative_to(project)) for p in project.rglob("*") if p.is_file()}
    asked = ["-m", "pip", "-q", "install", "--target", "setuptools", "setuptools>=77"]
    subprocess.run([sys.executable, *asked], cwd=tmp_path, check=True, timeout=LIMIT)
    build = f"import setuptools.build_meta as b; b.build_sdist({str(tmp_path)!r})"
    run(sys.executable, "-c", build, cwd=project, PYTHONPATH=str(tmp_path / "setuptools"))
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = next(tmp_path.glob("one_program_many_devices-*/"))
    assert there - {str(p.relative_to(unpacked)) for p in unpacked.rglob("*") if p.is_file()} == set()

    run(sys.executable, "-m", "publish.sync", "--check", cwd=unpacked)
    checked = run(sys.executable, "-m", "pytest", "lessons/ch01_devices", "--solutions", cwd=unpacked)
    several = exercises("ch01_devices")
    assert f"exercises checked here: {several} of {several} solved" in checked
