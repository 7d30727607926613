"""The plans that ship with the book are of the programs as they are, and the compiler makes them again."""

import json

import pytest

from minipod.pods import compiler, making, recorded
from minipod.pods.command import prepared
from publish import record_plans
from publish.page import ROOT

WANTED = [(path, each) for path in record_plans.lists(ROOT) for each in record_plans.wanted(path)]
NAMES = [f"{each.program.rpartition(':')[2]} on {each.on}" for _, each in WANTED]


def test_there_are_plans_of_v5e_and_v4():
    assert {each.on.partition(":")[0] for _, each in WANTED} >= {"v5e", "v4"}


@pytest.mark.parametrize("path, each", WANTED, ids=NAMES)
def test_what_is_recorded_is_of_the_program_as_it_is(path, each):
    traced = prepared(each.program, each.on, each.mesh)
    found = recorded.find(traced, path.parent)  # raises where it is of another
    assert "jax" in found["versions"] and len(found["versions"]) == 2
    assert len(recorded.load(path.parent)) == sum(other == path for other, _ in WANTED)


def test_it_is_found_from_the_function_alone(monkeypatch):
    monkeypatch.setattr(compiler, "NEEDED", dict.fromkeys(("tpu", "cuda"), (("no_such_package",),)))
    _, each = WANTED[0]
    assert making.make(prepared(each.program, each.on, each.mesh)).recorded  # the folder is that of its file


@pytest.mark.long
@pytest.mark.parametrize("path, each", WANTED, ids=NAMES)
def test_the_compiler_makes_it_again(path, each):
    traced = prepared(each.program, each.on, each.mesh)
    platform = traced.on.generation.platform
    if lacking := compiler.missing(platform):
        pytest.skip(f"not installed here: {' '.join(lacking)}")
    kept, here = recorded.find(traced, path.parent), compiler.versions(platform)
    if kept["versions"] != here:
        pytest.skip(f"recorded with {kept['versions']}, and here are {here}")
    found, _ = making.compiled(traced)
    assert record_plans.differences(kept["facts"], json.loads(json.dumps(found))) == []


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
