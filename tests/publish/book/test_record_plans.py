"""The plans that ship with the book are of the programs as they are, and the compiler makes them again."""

import json

import jax
import pytest

from minipod.pods import compiler, planning, recorded
from minipod.pods.plan_command import prepared
from publish import record_plans
from publish.outputs import ledger
from publish.page import ROOT

LISTS = list(record_plans.lists(ROOT))
OF_A_LIST = pytest.mark.parametrize("path", LISTS, ids=lambda path: path.parent.name)


def as_recorded(path) -> None:
    """Each program of a list is what was planned."""
    for each in record_plans.wanted(path):
        found = recorded.find(prepared(each.program, each.on, each.mesh), path.parent)  # raises where it is of another
        assert "jax" in found["versions"] and len(found["versions"]) == 2
    assert len(recorded.load(path.parent)) == len([*record_plans.wanted(path)]) > 0


def test_what_is_recorded_is_of_the_programs_as_they_are():
    """Traced are one list and those of which a file, or JAX, is another than when it was recorded."""
    rows = {name: row for row in ledger.read(ROOT).rows.values() for name in row.arguments}
    kept = ledger.kept(ROOT)
    for path in LISTS:
        row = rows[path.parent.name]
        same_jax = kept[row.name].versions["jax"] == jax.__version__
        if path.parent.name == "axes" or not same_jax or ledger.stale(row, kept[row.name], ROOT):
            as_recorded(path)


@pytest.mark.long
@OF_A_LIST
def test_all_that_is_recorded_is_of_the_programs_as_they_are(path):
    as_recorded(path)


def test_it_is_found_from_the_function_alone(monkeypatch):
    monkeypatch.setattr(compiler, "NEEDED", dict.fromkeys(("tpu", "cuda"), (("no_such_package",),)))
    each = next(iter(record_plans.wanted(LISTS[0])))
    assert planning.make(prepared(each.program, each.on, each.mesh)).recorded  # the folder is that of its file


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
    assert record_plans.differences(old, new) == [
        "memory.peak: 10 → 12",
        "collectives[0].bytes: 1 → 2",
        "flops.bf16: 5 → None",
        "flops.f32: None → 5",
    ]
    assert record_plans.differences(old, old) == []
    assert record_plans.differences([1], [1, 2], "collectives") == ["collectives: 1 → 2"]
