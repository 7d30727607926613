"""The ledger of everything recorded: each recorder has a row, each recorded file too; what is wrong is one sentence."""

import json
import os
import time
from pathlib import Path

import pytest

from publish import designer, record
from publish.outputs import ledger, needs
from publish.outputs.recordings import Made
from publish.page import ROOT, show
from publish.pages import status, terms

ROWS = ledger.read(ROOT).rows
# Written by hand; `published.json` by publish/recorders/published_plans.py, from a copy of what others have written.
GIVEN = ("plans.txt", "text.txt", "published.json")
SCRIPT = "from pathlib import Path\nimport data\nPath(__file__).with_name('seen.txt').write_text(data.SAID)\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A repository with one recorder, which reads data.py and writes seen.txt."""
    lesson = tmp_path / "lessons/first"
    lesson.mkdir(parents=True)
    (lesson / "record_it.py").write_text(SCRIPT)
    (lesson / "data.py").write_text("SAID = 'one'")
    (tmp_path / "book").mkdir()
    row(tmp_path)
    monkeypatch.setattr(record, "ROOT", tmp_path)
    return tmp_path


def row(folder: Path, by: str = "record_it.py", need: str = "") -> None:
    wanted = json.dumps([need] if need else [])
    (folder / ledger.LEDGER).write_text(
        '[pages]\nversions = { python = "3.11", jax = "0.10.2" }\n[recorders.it]\nminutes = 1\n'
        f'by = "lessons/first/{by}"\nwrites = ["lessons/first/seen.txt"]\nneeds = {wanted}\n'
    )


def test_each_recorder_has_a_row_and_each_row_its_recorder():
    there = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("publish/recorders/record_*.py")}
    assert {row.by for row in ROWS.values()} == there | {"publish/record_plans.py", "publish/designer.py"}
    assert [ledger.fault(row, ROOT) for row in ROWS.values() if ledger.fault(row, ROOT)] == []
    lists = {path.parent.name for pattern in ("plans.txt", "*_tpu.py") for path in ROOT.glob(f"lessons/*/{pattern}")}
    assert lists == {name for row in ROWS.values() if row.by == "publish/record_plans.py" for name in row.arguments}
    for edition in ("en", "zh-Hans"):  # the status page has a word for each need
        assert {f"need_{n}" for n in needs.NEEDS} <= {name for name, row in terms.ui().items() if row.get(edition)}


def test_each_recorded_file_of_a_lesson_is_of_one_row_and_what_is_noted_is_of_the_files_as_they_are():
    kinds = "json", "txt", "npz"
    there = {path for kind in kinds for path in ROOT.glob(f"lessons/*/*.{kind}") if path.name not in GIVEN}
    rows = [name for row in ROWS.values() for name in row.writes]
    assert sorted(rows) == sorted([*(path.relative_to(ROOT).as_posix() for path in there), show(designer.FILE)])
    kept = ledger.kept(ROOT)
    assert set(kept) == set(ROWS)
    assert [n for n, row in ROWS.items() if {*ledger.stale(row, kept[n], ROOT)} & {*row.writes}] == []


def test_a_recorder_runs_and_it_is_noted_from_what(folder, capsys):
    assert record.main(["--what", "it"]) == 0
    assert "it: lessons/first/seen.txt changed" in capsys.readouterr().out
    kept = ledger.kept(folder)["it"]
    assert {*kept.of} == {"lessons/first/record_it.py", "lessons/first/data.py"}
    assert {*kept.wrote} == {"lessons/first/seen.txt"}
    row = ledger.read(folder).rows["it"]
    assert ledger.stale(row, kept, folder) == []
    assert record.main(["--what", "i*"]) == 0
    assert "it: as before" in capsys.readouterr().out
    for name in ("data.py", "seen.txt"):
        (folder / "lessons/first" / name).write_text("SAID = 'two'")
    assert ledger.stale(row, kept, folder) == ["lessons/first/data.py", "lessons/first/seen.txt"]
    (folder / ledger.KEPT).unlink()
    (folder / "lessons/first/data.py").write_text("raise SystemExit(3)")
    assert record.main(["--what", "it"]) == 1
    assert capsys.readouterr().err.endswith("record_it.py ended with 3: nothing is noted of it\n")
    assert ledger.kept(folder) == {}


def test_what_is_wrong_is_one_sentence_before_anything_runs(folder, monkeypatch, capsys):
    def said(what: str) -> str:
        assert record.main(["--what", what]) == 1
        found = capsys.readouterr()
        assert not found.out and found.err.count("\n") == 1 and not (folder / "lessons/first/seen.txt").exists()
        return found.err

    assert said("its") == "nothing recorded is called «its»: choose from list, it\n"
    row(folder, by="record_that.py")
    assert said("it").startswith("book/recordings.toml: lessons/first/record_that.py, which records it, is not there: ")
    row(folder, need="a pony")
    assert said("it").startswith("book/recordings.toml: it needs «a pony», which is none of libtpu, root, ")
    row(folder, need="py-spy")
    monkeypatch.setenv("PATH", "")
    assert said("it") == "it needs py-spy: install it with pip\n"
    monkeypatch.setattr(os, "getloadavg", lambda: (3.14, 0, 0))  # a busy machine does not measure
    assert needs.lacking(["idle"])[0].startswith("a machine with nothing else to do: the load is 3.1 on ")
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0, 0))
    assert needs.lacking(["idle"]) == []
    text = (folder / ledger.LEDGER).read_text()
    (folder / ledger.LEDGER).write_text(text.replace("minutes = 1\n", ""))
    assert said("it") == "book/recordings.toml: [recorders.it] does not say «minutes»\n"
    (folder / ledger.LEDGER).write_text(text.replace("minutes", "hours"))
    assert said("it").startswith("book/recordings.toml: [recorders.it] has «hours», which is none of by, writes, ")
    (folder / ledger.LEDGER).write_text("[pages\n")
    assert said("it").startswith("book/recordings.toml: ")
    row(folder)
    (folder / ledger.KEPT).write_text("[3]")
    with pytest.raises(ValueError, match="book/recorded.json is damaged"):
        ledger.kept(folder)


def test_a_recording_of_other_versions_is_a_sentence():
    made = Made("2026-11-24", "3.11.7", {"jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2"}, "Linux")
    assert ledger.of_other_versions(made, {"python": "3.11", "jax": "0.10.2"}) == ""
    said = "was recorded with python 3.11, jax 0.10.2, and the book is to be with python 3.1{}, jax {} "
    for python, jax in (("1", "0.12.0"), ("", "0.10.2")):
        told = ledger.of_other_versions(made, {"python": f"3.1{python}", "jax": jax})
        assert told == said.format(python, jax) + "(book/recordings.toml)"


def test_the_list_names_everything_with_its_age(capsys):
    assert record.main(["--what", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = {line.split()[0]: line for line in lines[1:]}
    assert {*ROWS, "ch03_sharding", "index"} <= set(found) and len(lines) > 30
    night = ledger.kept(ROOT)["ch16_night"]
    days = int((time.time() - time.mktime(time.strptime(night.on, "%Y-%m-%d"))) // 86400)
    assert f"{night.on}  {days}" in found["ch16_night"] and "root, hosts, slurm" in found["ch16_night"]


def test_the_status_page_has_a_row_for_each_recorder_in_its_language():
    for edition, idle in (("en", "an idle machine"), ("zh-Hans", "空闲的机器"), ("zh-Hant", "閒置的機器")):
        lines = status.recorders(edition).splitlines()
        assert len(lines) == 2 + len(ROWS)
        guard = next(line for line in lines if "`ch12_guard`" in line)
        assert ledger.kept(ROOT)["ch12_guard"].on in guard and idle in guard
