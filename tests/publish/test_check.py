"""`make check`: one line a finding, of every kind there is; a note is none."""

import shutil

import pytest

from publish import check
from publish.page import ROOT
from publish.sync import Result
from publish.text import style


@pytest.fixture
def quiet(monkeypatch):
    """Each look finds nothing."""
    for look in ("code", "layout", "types", "packages", "imports"):
        monkeypatch.setattr(check, look, lambda: iter([]))
    monkeypatch.setattr(check.sync, "check", lambda: Result({}, [], []))
    monkeypatch.setattr(style, "check", lambda: [])


def test_where_nothing_is_to_be_mended_or_a_file_cannot_be_read_one_line_says_so(quiet, capsys, monkeypatch):
    assert check.main([]) == 0
    assert capsys.readouterr().out.startswith("nothing to fix (")

    # a file that cannot be read is a line
    def unreadable(*_):
        raise SyntaxError("invalid syntax (<unknown>, line 3)")

    monkeypatch.setattr(style, "check", unreadable)
    assert check.main([]) == 1
    assert capsys.readouterr().out.startswith("the check stops here: invalid syntax (<unknown>, line 3")


def test_each_finding_is_a_line_and_what_is_left_out_is_a_note(quiet, capsys, monkeypatch):
    stale = {ROOT / "README.md": ("", "README.md: a\nREADME.md: b")}
    monkeypatch.setattr(check.sync, "check", lambda: Result(stale, ["ch17: no page"], ["ch03: title.en is missing"]))
    monkeypatch.setattr(check, "packages", lambda: iter(["minipod.a -> grader.b (l.1)"]))
    monkeypatch.setattr(style, "check", lambda: [style.Finding("p.md:3", "上路", "上路了。", "发送")])
    monkeypatch.setattr(check, "code", lambda: iter(["a.py:1:1: F401"]))
    monkeypatch.setattr(check, "types", lambda: iter(["b.py:5: no such [r]"]))
    assert check.main([]) == 1
    assert capsys.readouterr().out.splitlines()[:-1] == [
        "a.py:1:1: F401",
        "b.py:5: no such [r]",
        "minipod.a -> grader.b (l.1)",
        "note: not yet in both languages: ch03: title.en is missing",
        "ch17: no page",
        "README.md: a: run `make sync`",
        "README.md: b: run `make sync`",
        "p.md:3: 上路: “上路了。”; say 发送",
    ]


def test_what_the_tools_say_is_a_line_each(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "ROOT", tmp_path)
    (tmp_path / "one.py").write_text("import os\n\nx = [1,2]\n")
    (tmp_path / "two.py").write_text('x: int = "a"\n')
    (tmp_path / "pyproject.toml").write_text("[tool.pyrefly]\nproject-includes = ['two.py']\n")
    assert [line.partition(": ")[0] for line in check.types()] == ["two.py:1"]
    assert [line.partition(": ")[0] for line in check.code()] == ["one.py:1:8"]
    assert list(check.layout()) == ["one.py: is not formatted: run `make format`"]
    (tmp_path / "ruff.toml").write_text("line-length = 'x'\n")
    (line,) = check.code()
    assert line.startswith("ruff: ruff failed")


IMPORTS = {  # file: what it holds, how its findings begin
    "minipod/up.py": ("import numpy\nfrom grader import messages\n", "minipod.up -> grader.messages (l.2) breaks"),
    "grader/exercise/up.py": ("def f():\n    import grader.see\n", "grader.exercise.up -> grader.see (l.2) breaks"),
    "minipod/bare.py": ("import yaml\n", "minipod/bare.py:1: 'yaml' imported but"),
    "grader/pages.py": (
        "import yaml\n",
        "grader/pages.py:1: 'yaml' imported but declared as part of an extra that this",
    ),
    "tests/odd.py": ("import no_such_thing\n", "tests/odd.py:1: 'no_such_thing' imported but missing from"),
    "publish/one.py": ("import publish.two.three\n", ""),  # of a circle one import is named
    "publish/two/three.py": ("import publish.one\n", ".two -> .one (1 import) breaks a contract"),
}


def test_imports_from_above_circles_and_what_nobody_declares_are_a_line_each(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "ROOT", tmp_path)
    for name in ("pyproject.toml", "minipod/pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    rooms = ("classroom", "notebook", "learn", "run", "say", "judge", "see", "exercise")
    packages = ("minipod", "solutions", "publish", "publish/two", "grader", *(f"grader/{room}" for room in rooms))
    for file in [*IMPORTS, *(f"{name}/__init__.py" for name in packages), "grader/messages.py", "lessons/ch01/demo.py"]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(IMPORTS.get(file, ("", ""))[0])
    found = [*check.packages(), *check.imports()]
    for _, begins in IMPORTS.values():
        assert any(line.startswith(begins) for line in found), (begins, found)
