"""Chapter 20's programs of jax-llm-examples: they hold their layers, and lie where their authors measured."""

import json
from importlib import metadata, util
from pathlib import Path

import pytest

from minipod.pods import compiler

LESSON = Path(__file__).parents[3] / "lessons/ch20_serving"
RECORD = json.loads((LESSON / "theirs.json").read_text("utf-8"))
PUBLISHED = json.loads((LESSON.parent / "ch15_pods/published.json").read_text("utf-8"))["rows"].values()
SPEC = util.spec_from_file_location("record_theirs", LESSON / "record_theirs.py")
assert SPEC is not None and SPEC.loader is not None
record_theirs = util.module_from_spec(SPEC)
SPEC.loader.exec_module(record_theirs)

# By hand, int8: q and o, k and v, and three of the feed-forward; then layers, and the chips that share them. The cache
# has 8 sequences of 2,048 positions, 8 heads of 128, K and V, cut over 8 chips by heads.
LAYERS = {
    "theirs_plan.py": 80 * (2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672) // 16,
    "qwen_plan.py": 64 * (2 * 5120 * 8192 + 2 * 5120 * 1024 + 3 * 5120 * 25600) // 8,
}
CACHE = {"theirs_plan.py": 80, "qwen_plan.py": 64}  # layers
BYTES_A_SECOND = 819e9  # of a v5e's memory


@pytest.mark.parametrize("program", record_theirs.PROGRAMS)
def test_a_plan_holds_their_layers_and_reads_them(program):
    plan = RECORD["plans"][program]
    cache = CACHE[program] * 2 * 8 * 2048 * 8 * 128 // 8
    assert plan["fits"] and plan["bound"] == "memory" and plan["at_least"] == []
    assert cache < plan["memory"]["outputs"] < 1.02 * cache  # int8 and its scales
    assert LAYERS[program] + cache < plan["memory"]["arguments"] < 1.6 * (LAYERS[program] + cache)
    assert (LAYERS[program] + cache) / BYTES_A_SECOND < plan["seconds"]["memory"] < plan["estimate"]


def test_what_its_authors_measured_lies_between_the_longest_and_the_sum():
    plan = RECORD["plans"]["theirs_plan.py"]
    alike = {"model": "llama3", "batch": 8, "length": 2048, "mesh": [1, 8, 2], "kind": "decode"}
    (row,) = (r for r in PUBLISHED if alike.items() <= r.items())
    assert max(plan["seconds"].values()) < row["published"] < sum(plan["seconds"].values())


@pytest.mark.long
@pytest.mark.skipif(bool(compiler.missing("tpu")), reason="libtpu and flatbuffers are not installed")
@pytest.mark.parametrize("program", record_theirs.PROGRAMS)
def test_where_their_repository_is_a_program_is_planned_as_recorded(program):
    package = "llama3_jax" if program == "theirs_plan.py" else "qwen3_jax"
    if lacking := [name for name in (package, "tqdm") if util.find_spec(name) is None]:
        pytest.skip(f"{' and '.join(lacking)} not on PYTHONPATH")
    plan, recorded = record_theirs.planned(program, *record_theirs.PROGRAMS[program]), RECORD["plans"][program]
    assert plan["memory"]["arguments"] == recorded["memory"]["arguments"]
    if all(metadata.version(name) == number for name, number in RECORD["versions"].items()):
        assert plan == recorded
