"""The recorders: each has a row, each recorded file too, and the plans that ship are of the programs as they are."""

import json
import os
from pathlib import Path

import jax
import pytest

from minipod.pods import compiler, planning, recorded
from minipod.pods.plan_command import prepared
from publish import designer, record, record_plans
from publish.outputs import ledger
from publish.outputs.recordings import Made
from publish.page import ROOT, show
from publish.pages import status, terms

ROWS = ledger.read(ROOT).rows
# Written by hand; `published.json` by publish/recorders/published.py, from a copy of what others have written.
GIVEN = ("plans.txt", "text.txt", "published.json")
SCRIPT = (
    '"""Copy."""\nfrom pathlib import Path\nimport data\nPath(__file__).with_name("seen.txt").write_text(data.SAID)\n'
)


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
    for name in {f"need_{need}" for row in ROWS.values() for need in row.needs}:  # what the status page says
        assert terms.ui()[name]["en"] and terms.ui()[name]["zh-Hans"]
    lists = {path.parent.name for pattern in ("plans.txt", "*_tpu.py") for path in ROOT.glob(f"lessons/*/{pattern}")}
    assert lists == {name for row in ROWS.values() if row.by == "publish/record_plans.py" for name in row.arguments}


def test_each_recorded_file_of_a_lesson_is_of_one_row_and_what_is_noted_is_of_the_files_as_they_are():
    kinds = "json", "txt", "npz"
    there = {path for kind in kinds for path in ROOT.glob(f"lessons/*/*.{kind}") if path.name not in GIVEN}
    rows = [name for row in ROWS.values() for name in row.writes]
    assert sorted(rows) == sorted([*(path.relative_to(ROOT).as_posix() for path in there), show(designer.FILE)])
    kept = ledger.entries(ROOT)
    assert set(kept) == set(ROWS)
    assert [name for name, row in ROWS.items() if not ledger.is_as_written(row, kept[name], ROOT)] == []


def test_a_recorder_runs_and_it_is_noted_from_what(folder, capsys):
    assert record.main(["--what", "it"]) == 0
    assert "it: lessons/first/seen.txt changed" in capsys.readouterr().out
    kept = ledger.entries(folder)["it"]
    row = ledger.read(folder).rows["it"]
    assert {*ledger.sources(row, folder)} == {"lessons/first/record_it.py", "lessons/first/data.py"}
    assert not ledger.is_stale(row, kept, folder) and ledger.is_as_written(row, kept, folder)
    assert record.main(["--what", "i*"]) == 0
    assert "it: as before" in capsys.readouterr().out
    (folder / "lessons/first/record_it.py").write_text(SCRIPT.replace("Copy", "Write what data.py says"))
    assert not ledger.is_stale(row, kept, folder)
    for name in ("data.py", "seen.txt"):
        (folder / "lessons/first" / name).write_text("SAID = 'two'")
    assert ledger.is_stale(row, kept, folder) and not ledger.is_as_written(row, kept, folder)
    (folder / ledger.KEPT).unlink()
    (folder / "lessons/first/data.py").write_text("raise SystemExit(3)")
    assert record.main(["--what", "it"]) == 1
    assert capsys.readouterr().err.endswith("record_it.py ended with 3: nothing is recorded for it\n")
    assert ledger.entries(folder) == {}


def test_what_is_wrong_is_one_sentence_before_anything_runs(folder, monkeypatch, capsys):
    def said(what: str) -> str:
        assert record.main(["--what", what]) == 1
        found = capsys.readouterr()
        assert not found.out and found.err.count("\n") == 1 and not (folder / "lessons/first/seen.txt").exists()
        return found.err

    assert said("its") == "no recorder is called “its”: choose from it\n"
    row(folder, by="record_that.py")
    assert said("it").startswith("book/recordings.toml: lessons/first/record_that.py, which records it, is missing: ")
    row(folder, need="idle")
    monkeypatch.setattr(os, "getloadavg", lambda: (300.14, 0, 0))  # a busy machine does not measure
    assert said("it").startswith("it measures times: it needs an idle machine, but the load is 300.1")
    text = (folder / ledger.LEDGER).read_text()
    (folder / ledger.LEDGER).write_text(text.replace("minutes = 1\n", ""))
    assert said("it") == "book/recordings.toml: [recorders.it] lacks `minutes`\n"
    (folder / ledger.LEDGER).write_text(text.replace("minutes", "hours"))
    assert said("it").startswith("book/recordings.toml: [recorders.it] has `hours`, which is not one of by, writes, ")
    (folder / ledger.LEDGER).write_text("[pages\n")
    assert said("it").startswith("book/recordings.toml: ")
    row(folder)
    (folder / ledger.KEPT).write_text("[3]")
    with pytest.raises(ValueError, match="book/recorded.json is damaged"):
        ledger.entries(folder)


def test_a_recording_of_other_versions_is_a_sentence():
    made = Made("2026-11-24", "3.11.7", {"jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2"}, "Linux")
    assert ledger.of_other_versions(made, {"python": "3.11", "jax": "0.10.2"}) == ""
    said = "was recorded with python 3.11, jax 0.10.2, but the book uses python 3.1{}, jax {} "
    for python, version in (("1", "0.12.0"), ("", "0.10.2")):
        told = ledger.of_other_versions(made, {"python": f"3.1{python}", "jax": version})
        assert told == said.format(python, version) + "(book/recordings.toml)"


def test_the_status_page_has_a_row_for_each_recorder_in_its_language():
    for edition, idle in (("en", "an idle machine"), ("zh-Hans", "空闲的机器"), ("zh-Hant", "閒置的機器")):
        lines = status.recorders(edition).splitlines()
        assert len(lines) == 2 + len(ROWS)
        guard = next(line for line in lines if "`ch12_guard`" in line)
        assert ledger.entries(ROOT)["ch12_guard"].on in guard and idle in guard


LISTS = list(record_plans.lists(ROOT))
OF_A_LIST = pytest.mark.parametrize("path", LISTS, ids=lambda path: path.parent.name)


@OF_A_LIST
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
def test_what_is_recorded_is_of_the_programs_as_they_are(path, every):
    """In `make test` it is traced for one list and where a file, or JAX, is another than when it was recorded."""
    (row,) = (row for row in ROWS.values() if path.parent.name in row.arguments)
    of = ledger.entries(ROOT)[row.name]
    if every or path.parent.name == "axes" or of.versions["jax"] != jax.__version__ or ledger.is_stale(row, of, ROOT):
        for each in record_plans.wanted(path):
            found = recorded.find(prepared(each.program, each.on, each.mesh), path.parent)  # raises if of another
            assert "jax" in found["versions"] and len(found["versions"]) == 2
        assert len(recorded.load(path.parent)) == len([*record_plans.wanted(path)]) > 0


@pytest.mark.long
@OF_A_LIST
def test_the_compiler_makes_them_again(path):
    for each in record_plans.wanted(path):
        traced = prepared(each.program, each.on, each.mesh)
        platform = traced.on.generation.platform
        if lacking := compiler.missing(platform):
            pytest.skip(f"not installed here: {' '.join(lacking)}")
        kept, here = recorded.find(traced, path.parent), compiler.versions(platform)
        if kept["versions"] != here:
            pytest.skip(f"recorded with {kept['versions']}, and here are {here}")
        found, _ = planning.compiled(traced)
        assert record_plans.differences(kept["facts"], json.loads(json.dumps(found))) == [], each


@pytest.mark.long
@pytest.mark.parametrize("path", record_plans.reports(ROOT), ids=lambda path: path.parent.name)
def test_the_compiler_reports_it_again(path):
    if lacking := compiler.missing("tpu"):
        pytest.skip(f"not installed here: {' '.join(lacking)}")
    kept, here = path.with_suffix(".txt").read_text("utf-8"), compiler.versions()["libtpu"]
    if not kept.splitlines()[0].endswith(f"libtpu {here}"):
        pytest.skip(f"recorded with another libtpu, and here is {here}")
    assert record_plans.report(path) == kept


def test_a_difference_is_said_figure_by_figure():
    old = {"memory": {"peak": 10, "limit": 3}, "collectives": [{"bytes": 1}], "flops": {"bf16": 5}}
    new = {"memory": {"peak": 12, "limit": 3}, "collectives": [{"bytes": 2}], "flops": {"f32": 5}}
    said = ["memory.peak: 10 → 12", "collectives[0].bytes: 1 → 2", "flops.bf16: 5 → None", "flops.f32: None → 5"]
    assert record_plans.differences(old, new) == said
    assert record_plans.differences(old, old) == []
    assert record_plans.differences([1], [1, 2], "collectives") == ["collectives: 1 → 2"]
