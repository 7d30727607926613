"""Chapter 22's tables for more stages and microbatches than its page has."""

import collections
import itertools
import shutil
from pathlib import Path
from types import ModuleType

import jax
import numpy as np
import pytest

from minipod import cluster

LESSON = Path(__file__).resolve().parents[2] / "lessons/ch22_stages"


@pytest.fixture
def schedule(lesson) -> ModuleType:
    return lesson("ch22_stages", "schedule")


def tables(schedule: ModuleType, stages: int, microbatches: int, ticks: dict[str, int]):
    """(the table, parts on a stage) of each schedule that there is for these sizes."""
    for way in (schedule.gpipe, schedule.one_f_one_b):
        yield schedule.table(way(stages, microbatches), ticks), 1
    if microbatches % stages == 0:
        for chunks in (2, 3):
            yield schedule.table(schedule.interleaved(stages, microbatches, chunks), ticks), chunks


@pytest.mark.parametrize(
    ("stages", "microbatches"), [*itertools.product((2, 3, 4), (1, 4, 6)), pytest.param(6, 12, marks=pytest.mark.long)]
)
def test_everything_is_done_once_and_after_what_it_needs_with_the_bubble_of_the_formula(schedule, stages, microbatches):
    for back in (1, 2):  # ticks of a backward
        for rows, v in tables(schedule, stages, microbatches, {"F": 1, "B": back}):
            wanted = (stages - 1) / (v * microbatches + stages - 1)
            assert schedule.bubble(rows) == pytest.approx(wanted)
    for rows, v in tables(schedule, stages, microbatches, schedule.ONE):
        at = {op: t for t, row in enumerate(rows) for op in row if op}
        assert len(at) == sum(op is not None for row in rows for op in row) == 2 * stages * microbatches * v
        last = stages * v - 1
        assert all(at[n] < t for op, t in at.items() for n in schedule.needs(op, last))
        assert all(op.part % stages == s for row in rows for s, op in enumerate(row) if op)
    kept = schedule.kept(schedule.table(schedule.one_f_one_b(stages, microbatches)))
    assert kept == [min(microbatches, stages - s) for s in range(stages)], "no more than there are stages after it"
    assert schedule.kept(schedule.table(schedule.gpipe(stages, microbatches))) == [microbatches] * stages


def test_what_cannot_be_run_is_refused_with_what_waits_for_what(lesson):
    schedule, executor = lesson("ch22_stages", "schedule", "executor")
    with pytest.raises(ValueError, match=r"^B0 of part 1 is there twice: it may take one tick$"):
        executor.plan(schedule.table(schedule.gpipe(2, 1), {"F": 1, "B": 2}))
    with pytest.raises(ValueError, match=r"^F0 of part 1 is on stage 0, not 1$"):
        executor.plan([[schedule.Op("F", 0, 1), schedule.Op("F", 0, 0)]])
    orders = schedule.gpipe(2, 1)
    orders[1].reverse()
    with pytest.raises(ValueError, match=r"^all wait: stage 0 for B0 of part 1, stage 1 for F0 of part 1$"):
        schedule.table(orders)
    with pytest.raises(ValueError, match=r"^6 is not a multiple of 4$"):
        schedule.interleaved(4, 6)
    with pytest.raises(ValueError, match=r"^there is nothing to do: no microbatch$"):
        schedule.table(schedule.gpipe(3, 0))
    with pytest.raises(ValueError, match=r"^a model of one part needs no pipeline$"):
        executor.plan(schedule.table(schedule.gpipe(1, 3)))
    # but a stage may have more than eight parts in a picture
    rows = schedule.labels(schedule.table(schedule.interleaved(2, 2, 9)))
    assert {row[0] for row in rows} >= {"F0", "F0b", "F1i", "B1i"}


@pytest.mark.long
def test_swapped_entries_end_the_processes_with_a_bare_key(tmp_path, lesson, monkeypatch):
    shutil.copytree(LESSON, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "schedule.py").open("a") as file:
        file.write(
            "\n\ndef swapped(*sizes):\n    orders = one_f_one_b(*sizes)\n"
            "    orders[-1][:2] = reversed(orders[-1][:2])\n    return orders\n"
        )
    parts, stage = lesson("ch22_stages", "parts", "stage")
    monkeypatch.setattr(stage, "__file__", str(tmp_path / "stage.py"))
    tokens = parts.batch(np.arange(4096) % 256, 0, 4, 2)
    with pytest.raises(cluster.ClusterError, match=r"process 3 .*\n(.*\n)*.*KeyError: 0"):
        stage.run("swapped", parts.drawn(jax.random.key(0)), tokens, pause=1)


def test_lanes_show_when_each_operation_ran(lesson):
    lanes, schedule = lesson("ch22_stages", "lanes", "schedule")
    orders, ticks = schedule.one_f_one_b(3, 4), collections.defaultdict(list)
    for t, row in enumerate(schedule.table(orders, {"F": 1, "B": 2})):
        for s, op in enumerate(row):
            ticks[s, op].append(t)
    told = [{"log": [(100 + ticks[s, op][0], 101 + ticks[s, op][-1]) for op in mine]} for s, mine in enumerate(orders)]
    line = lanes.lanes(told)
    drawn = {(span.lane, span.label): (span.start, span.end) for span in line.spans}
    assert drawn == {(s, f"{op.kind}{op.microbatch}"): (t[0], t[-1] + 1) for (s, op), t in ticks.items() if op}
    ended = [words[2] for _, words in line.steps]
    assert [now for now, _ in line.steps] == sorted({end for _, end in drawn.values()})
    assert sorted((who[1][1], who[2]) for said in ended for who in said[1:]) == sorted(
        (f"stage {s}", label) for s, label in drawn
    )
