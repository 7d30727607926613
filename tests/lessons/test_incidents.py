"""The incidents of ch12: what was recorded leads to the process and the line where the fault was planted."""

import os
import re
import subprocess
import sys

import pytest
from seldom import rarely

from lessons.ch12_pitfalls import reports
from minipod import cluster
from publish.recorders.record_incidents import HERE, MARKS, PLANTED, record
from solutions.ch12_pitfalls import first_apart, who_is_missing

PARTED = {"best", "swap", "broken", "log", "thrift"}  # the others are missing, or nobody is
GPU_FLAGS = (
    "--xla_gpu_nccl_termination_timeout_seconds=600 --xla_gpu_nccl_terminate_on_error=false "
    "--xla_gpu_nccl_async_execution=true --xla_gpu_nccl_blocking_communicators=false"
)


def found(incident: dict) -> tuple[int, int] | None:
    """What the chapter's solutions make of an incident."""
    if incident["fault"] in PARTED:
        return first_apart([reports.calls(text) for text in incident["reports"]])
    return who_is_missing([reports.stack(text) for text in incident["reports"]])


def test_each_recorded_incident_leads_to_what_was_planted():
    for incident, (fault, process, _, processes) in zip(reports.incidents(), PLANTED, strict=True):
        assert incident["fault"] == fault and len(incident["reports"]) == processes
        truth = None if fault == "stall" else (process, incident["line"])
        assert found(incident) == truth, fault
        if truth:
            source = (HERE / "incident.py").read_text().splitlines()[incident["line"] - 1]
            assert source.strip().startswith(MARKS[fault])


@pytest.mark.long
@pytest.mark.parametrize("planted", [PLANTED[0], *rarely(PLANTED[1], PLANTED[2])], ids=lambda planted: planted[0])
def test_an_incident_of_today_leads_there_too(planted):
    incident = record(*planted)
    assert found(incident) == (None if planted[0] == "stall" else (planted[1], incident["line"]))


@pytest.mark.long
def test_a_late_hang_is_found_in_the_lists_and_not_in_the_stacks():
    done = cluster.run(HERE / "late_found.py", limit=60.0, check=False)
    lists = [reports.calls(text) for text in done.outputs]
    common = next(k for k, (a, b) in enumerate(zip(*lists, strict=False)) if a != b)
    assert [calls[common][0] for calls in lists] == ["sum 5", "copy 4"]
    late = cluster.run(HERE / "late_log.py", limit=15.0, check=False)
    (fault,) = [n for n, x in enumerate((HERE / "late_log.py").read_text().splitlines(), 1) if "whole(weights)" in x]
    assert all(text and f"late_log.py:{fault} " not in text for text in late.stacks)


@pytest.mark.long
def test_in_a_stall_all_processes_ask_for_the_same_and_stand_on_the_same_line():
    done = cluster.run(HERE / "one_stalls.py", limit=60.0, check=False)
    lists = [reports.calls(text) for text in done.outputs]
    assert all(a == b for a, b in zip(*lists, strict=False)) and min(map(len, lists)) > 2
    stacks = [[frame[:2] for frame in reports.stack(text)] for text in done.outputs]
    (lines,) = {tuple(n for file, n in stack if file.endswith("one_stalls.py")) for stack in stacks}
    assert lines


@pytest.mark.long
def test_own_seeds_and_a_model_axis_across_make_replicas_that_differ():
    done = cluster.run(HERE / "own_seed.py")
    weights = [re.search(r"weights: (.+)", text) for text in done.outputs]
    assert all("fully replicated: True" in text for text in done.outputs)
    assert weights[0] and weights[1] and weights[0][1] != weights[1][1]
    assert cluster.run(HERE / "model_across.py").outputs == ["examples: (8,) sum: 8.0\n", "examples: (8,) sum: 16.0\n"]


def test_assert_equal_believes_an_array_that_calls_itself_replicated():
    for text in cluster.run(HERE / "own_seed_found.py").outputs:
        lines = text.splitlines()
        assert lines[0] == "assert_equal, the array finds nothing"
        assert lines[1] == "assert_equal, what I hold -> weights differ"
        assert lines[2].startswith("same_replicas -> weights[:] should be the same everywhere, but is not")


@pytest.mark.parametrize("flags", [GPU_FLAGS, "--xla_gpu_no_such_flag=1"], ids=len)
def test_the_flags_for_gpus_that_the_page_names_are_known(flags):
    env = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", "import jax; jax.devices()"], env=env, capture_output=True)
    assert (done.returncode == 0) == (flags == GPU_FLAGS)
