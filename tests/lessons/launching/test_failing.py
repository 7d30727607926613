"""Every way to fail, under every launcher: soon over, with its reason and its status, as recorded and run again."""

import json
from pathlib import Path
from typing import Any

import pytest
from seldom import rarely

from lessons.ch14_launching import failing
from publish.recorders import launchers, slurm
from publish.recorders import record_failing as recorder

SOON = 16.0  # seconds, as recorded; a step may take ten
LATER = 290.0  # on a machine that is busy; JAX alone takes 300
RECORDED: dict[str, dict[str, Any]] = json.loads((recorder.HERE / "failing.json").read_text("utf-8"))
NAMES = [name for name in RECORDED if name != "recorded"]
# By hand nobody ends process 0, which waits in `initialize`, nor a process that is stopped: `timeout` does.
ALONE = {("by hand", way) for way in ("raises before initialize", "lacks a package", "SIGSTOP")}
STATUS = {"sys.exit(2)": {2}, "raises": {1}, "raises in all": {1}, "60 s late": {0}}


def check(name: str, way: str, found: dict[str, Any], soon: float) -> None:
    """One cell of the table."""
    if way == "60 s late":
        assert 60 < max(found["seconds"]) < 60 + 2 * soon
    elif (name, way) not in ALONE:
        assert max(found["seconds"]) < soon, f"{way} under {name}"
    assert found["reasons"] == len(found["seconds"]), f"the reason for «{way}» is not in a log of {name}"
    if name != "by hand":  # there each has its own
        assert set(found["status"]) <= STATUS.get(way, set(range(1, 256))), f"{way} under {name}"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_recorded_is_as_the_page_says(name: str):
    assert list(RECORDED[name]) == list(failing.WAYS)
    for way, found in RECORDED[name].items():
        check(name, way, found, SOON)


def test_each_launcher_has_the_date_of_its_own_runs():
    assert RECORDED["recorded"].keys() == set(NAMES)


def test_slurm_keeps_the_reason_twenty_times_of_twenty():
    found = [RECORDED["srun"][way] for way in recorder.MORE]
    assert {(len(one["seconds"]), one["reasons"]) for one in found} == {(20, 20)}


@pytest.mark.long
@pytest.mark.skipif(slurm.why_not() is not None, reason=slurm.why_not() or "")
def test_it_goes_so_again_under_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with slurm.cluster(hosts=2) as here:
        for way in failing.WAYS:
            check("srun", way, recorder.tried(recorder.by_slurm(here), way, 1), LATER)


@pytest.mark.long
@pytest.mark.skipif(launchers.why_no_mpirun_4() is not None, reason=launchers.why_no_mpirun_4() or "")
@pytest.mark.parametrize("name", rarely("mpirun 4", "gpu_box.sh"))
def test_it_goes_so_again(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    once = {"mpirun 4": recorder.by_mpirun(None), "gpu_box.sh": recorder.gpu_box}[name]
    for way in set(failing.WAYS) - {"60 s late"}:
        check(name, way, recorder.tried(once, way, 1), LATER)
