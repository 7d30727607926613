"""`minipod doctor --cluster` under launchers and on two hosts."""

import json
import sys
from pathlib import Path

import pytest
from launchers import NO_MPI, clean

from minipod import hosts
from publish.recorders import slurm
from publish.recorders.launchers import with_mpi

DOCTOR = ["minipod", "doctor", "--cluster", "--json"]


@pytest.mark.long
@pytest.mark.skipif(NO_MPI is not None, reason=NO_MPI or "")
@pytest.mark.parametrize("launcher", ["Open MPI", "mpi4py"])
def test_under_mpirun_two_compute_and_one_reports(launcher: str, request: pytest.FixtureRequest):
    prefix = request.getfixturevalue("open_mpi_5") if launcher == "mpi4py" else None
    done = with_mpi(["mpirun", "-n", "2", sys.executable, "-m", *DOCTOR], prefix)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]  # process 0's alone
    found = {row["key"]: row for row in json.loads(line)["findings"]}
    assert done.returncode == 0 and found["processes"]["value"].startswith(f"2 ({launcher}), on "), done.stderr
    assert {found[key]["state"] for key in ("versions", "settings", "devices", "clocks", "hop")} == {"well"}


@pytest.mark.long
@pytest.mark.skipif(slurm.why_not() is not None, reason=str(slurm.why_not()))
def test_under_srun_two_compute_and_one_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with slurm.cluster() as cluster:
        done = cluster.run("srun", "-n2", "--cpu-bind=none", sys.executable, "-m", *DOCTOR, env=clean(), limit=240)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {row["key"]: row for row in json.loads(done.stdout)["findings"]}
    assert found["processes"]["value"].startswith("2 (Slurm), on host0; coordinator node0:")
    assert {found[key]["state"] for key in ("versions", "settings", "devices", "clocks", "hop")} == {"well"}


@pytest.mark.long
@pytest.mark.skipif(hosts.why_not() is not None, reason=str(hosts.why_not()))
def test_on_two_hosts_their_names_and_the_hop_between_them_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with hosts.lab(2, "100mbit", "5ms") as lab:
        done = lab.run(*DOCTOR, module=True, devices=2, limit=120, env=clean(), check=False)
    said = json.loads(done.outputs[0])
    (value,) = (row["value"] for row in said["findings"] if row["key"] == "processes")
    assert done.exit_code == 0 and "on host0, host1; coordinator 10." in value
    hop = said["processes"][0]["hop"]
    assert hop["latency"] > 0.005 and hop["bandwidth"] < 12.5e6  # no faster than the cable: 5 ms, 100 Mbit/s
