"""`make check`: one line a finding, of every kind there is; a note is none."""

import json
import subprocess

import pytest

from publish import check, house
from publish.page import ROOT
from publish.sync import Result
from publish.text import style

WHERE = {"file": str(ROOT / "publish/x.py"), "range": {"start": {"line": 4}}}
PYRIGHT = {**WHERE, "severity": "error", "message": "No\n  such", "rule": "r"}
POPEN = subprocess.Popen


@pytest.fixture
def quiet(monkeypatch):
    """All looks but that of pyright, whose answer is given; each finds nothing."""
    monkeypatch.setattr(check, "BIN", ROOT / "nowhere")
    monkeypatch.setattr(check, "code", lambda: iter([]))
    monkeypatch.setattr(check, "layout", lambda: iter([]))
    monkeypatch.setattr(house, "faults", lambda root: iter([]))
    monkeypatch.setattr(check.sync, "check", lambda: Result({}, [], []))
    monkeypatch.setattr(style, "check", lambda: ([], {}))

    def answer(said):
        monkeypatch.setattr(check.subprocess, "Popen", lambda command, **how: POPEN(["echo", said], **how))

    answer(json.dumps({"generalDiagnostics": []}))
    return answer


def test_each_finding_is_a_line_and_what_is_left_out_is_a_note(quiet, capsys, monkeypatch):
    assert check.main([]) == 0
    assert capsys.readouterr().out.startswith("nothing to mend (")
    quiet(json.dumps({"generalDiagnostics": [PYRIGHT]}))
    stale = {ROOT / "README.md": ("", "README.md: a\nREADME.md: b")}
    monkeypatch.setattr(check.sync, "check", lambda: Result(stale, ["ch17: no page"], ["ch03: title.en is missing"]))
    monkeypatch.setattr(house, "faults", lambda root: iter(["minipod/a.py:1: up"]))
    monkeypatch.setattr(style, "check", lambda: ([style.Found("p.md:3", "上路", "上路了。", "发送")], {}))
    monkeypatch.setattr(check, "code", lambda: iter(["a.py:1:1: F401"]))
    assert check.main([]) == 1
    assert capsys.readouterr().out.splitlines()[:-1] == [
        "a.py:1:1: F401",
        "minipod/a.py:1: up",
        "note: not yet in both languages: ch03: title.en is missing",
        "ch17: no page",
        "README.md: a: run `make sync`",
        "README.md: b: run `make sync`",
        "p.md:3: 上路: «上路了。»; say 发送",
        "publish/x.py:5: No such (r)",
    ]


def test_without_pyright_the_others_count_and_a_file_that_cannot_be_read_is_a_line(quiet, capsys, monkeypatch):
    def unreadable(*_):
        raise SyntaxError("invalid syntax (<unknown>, line 3)")

    quiet("")
    assert check.main([]) == 0
    assert capsys.readouterr().out.startswith("note: types are not looked at: pyright could not fetch its program")
    monkeypatch.setattr(style, "check", unreadable)
    assert check.main([]) == 1
    assert capsys.readouterr().out.startswith("what comes after this cannot be read: invalid syntax (<unknown>, line 3")


def test_what_ruff_says_is_a_line_each(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "ROOT", tmp_path)
    (tmp_path / "one.py").write_text("import os\n\nx = [1,2]\n")
    assert [line.partition(": ")[0] for line in check.code()] == ["one.py:1:8"]
    assert list(check.layout()) == ["one.py: is laid out otherwise: run `make format`"]
    (tmp_path / "ruff.toml").write_text("line-length = 'x'\n")
    (line,) = check.code()
    assert line.startswith("ruff: ruff failed")
