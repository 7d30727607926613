"""The plans that ship with the book are of the programs as they are, and the compiler makes them again."""

import json

import pytest

from minipod.pods import compiler, making, recorded
from minipod.pods.command import prepared
from publish import record_plans
from publish.pages.page import ROOT

WANTED = [(path, each) for path in record_plans.lists(ROOT) for each in record_plans.wanted(path)]
NAMES = [f"{each.program.rpartition(':')[2]} on {each.on}" for _, each in WANTED]


def test_there_are_plans_of_v5e_and_v4():
    assert {each.on.partition(":")[0] for _, each in WANTED} >= {"v5e", "v4"}


@pytest.mark.parametrize("path, each", WANTED, ids=NAMES)
def test_what_is_recorded_is_of_the_program_as_it_is(path, each):
    traced = prepared(each.program, each.on, each.mesh)
    found = recorded.find(traced, path.parent)  # raises where it is of another
    by = {"tpu": "libtpu", "cuda": "jax-cuda13-plugin"}
    assert {"jax", by[traced.on.generation.platform]} == {*found["versions"]}
    assert len(recorded.load(path.parent)) == sum(other == path for other, _ in WANTED)


@pytest.mark.long
@pytest.mark.parametrize("path, each", WANTED, ids=NAMES)
def test_the_compiler_makes_it_again(path, each):
    traced = prepared(each.program, each.on, each.mesh)
    platform = traced.on.generation.platform
    if lacking := compiler.missing(platform):
        pytest.skip(f"not installed here: {' and '.join(lacking)}")
    kept = recorded.find(traced, path.parent)
    if kept["versions"] != compiler.versions(platform):
        pytest.skip(f"recorded with {kept['versions']}, and here are {compiler.versions(platform)}")
    found, _ = making.compiled(traced)
    assert record_plans.differences(kept["facts"], json.loads(json.dumps(found))) == []


def test_without_a_compiler_for_gpus_their_plans_are_kept(monkeypatch, tmp_path):
    path = ROOT / "lessons/ch15_pods/plans.txt"
    for name in ("stack.py", "named.py", "plans.json"):
        (tmp_path / name).write_text((path.parent / name).read_text("utf-8"), "utf-8")
    lines = [line for line in path.read_text("utf-8").splitlines() if "copies --on h100" in line]
    (tmp_path / "plans.txt").write_text("\n".join(lines), "utf-8")
    monkeypatch.setitem(compiler.NEEDED, "cuda", (("no_such_package",),))
    record_plans.record(tmp_path / "plans.txt")
    (kept,) = recorded.load(tmp_path)
    assert kept in recorded.load(path.parent) and kept["names"][0] == "copies"
    (tmp_path / "plans.json").write_text("[]")
    with pytest.raises(compiler.Missing):  # nothing to keep
        record_plans.record(tmp_path / "plans.txt")


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
