"""What only Slurm does to a job: two steps at once, a time limit, a node that goes down; as recorded and run again."""

import json
from pathlib import Path
from typing import Any

import pytest
import slurm

from lessons.ch14_launching import record_slurm_ends as recorder

# The state, the status that the script leaves, and seconds: Slurm looks at time limits every 30, and KillWait is 5.
WANTED = {
    "two steps of one job": ("COMPLETED", 0, 240.0),
    "time limit": ("TIMEOUT", 143, 60.0),
    "node down": ("NODE_FAIL", 143, 30.0),
}


def check(found: dict[str, list[dict[str, Any]]]) -> None:
    assert list(found) == list(WANTED)
    for way, tries in found.items():
        state, status, seconds = WANTED[way]
        for one in tries:
            assert (one["state"], one["status"], one["told"]) == (state, status, True), way
            assert one["seconds"] < seconds, way


def test_what_is_recorded_is_as_the_page_says():
    found = json.loads((recorder.HERE / "slurm_ends.json").read_text("utf-8"))
    del found["recorded"]
    check(found)
    assert [len(tries) for tries in found.values()] == [recorder.TRIES] * 3


@pytest.mark.long
@pytest.mark.rarely
@pytest.mark.skipif(slurm.why_not() is not None, reason=slurm.why_not() or "")
def test_it_goes_so_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with slurm.cluster(hosts=2) as here:
        check(recorder.record(here, tries=1))
