"""`minipod doctor --cluster` is one command under every launcher."""

import json
from pathlib import Path

import pytest
from launchers import NO_MPI, NO_SLURM, PYTHON, clean, mpirun, srun

from minipod import hosts
from publish.recorders.launchers import with_mpi

DOCTOR = [PYTHON, "-m", "minipod", "doctor", "--cluster", "--json"]
needs_mpi = pytest.mark.skipif(NO_MPI is not None, reason=NO_MPI or "")
needs_slurm = pytest.mark.skipif(NO_SLURM is not None, reason=NO_SLURM or "")


def findings(text: str) -> dict[str, dict[str, str]]:
    """Process 0's, which alone prints to standard output."""
    (line,) = [line for line in text.splitlines() if line.startswith("{")]
    return {row["key"]: row for row in json.loads(line)["findings"]}


@pytest.mark.long
@needs_mpi
@pytest.mark.parametrize("of_the_system", [True, False], ids=["Open MPI 4", "Open MPI 5"])
def test_under_mpirun_two_compute_and_one_reports(of_the_system: bool, tmp_path: Path, request: pytest.FixtureRequest):
    if of_the_system:
        done = mpirun(DOCTOR, cwd=tmp_path)
    else:
        done = with_mpi(["mpirun", "-n", "2", *DOCTOR], request.getfixturevalue("open_mpi_5"))
    found = findings(done.stdout)
    launcher = "Open MPI" if of_the_system else "mpi4py"
    assert done.returncode == 0 and found["processes"]["value"].startswith(f"2 of {launcher}, on "), done.stderr
    assert {found[key]["state"] for key in ("versions", "settings", "devices", "clocks", "hop")} == {"well"}


@pytest.mark.long
@needs_slurm
def test_under_srun_two_compute_and_one_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    done = srun(*DOCTOR)
    found = findings(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["processes"]["value"].startswith("2 (Slurm), on host0; coordinator node0:")
    assert {found[key]["state"] for key in ("versions", "settings", "devices", "clocks", "hop")} == {"well"}


@pytest.mark.long
@pytest.mark.skipif(hosts.why_not() is not None, reason=str(hosts.why_not()))
def test_on_two_hosts_their_names_and_the_hop_between_them_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with hosts.lab(2, "100mbit", "5ms") as lab:
        done = lab.run("minipod", *DOCTOR[3:], module=True, devices=2, limit=120, env=clean(), check=False)
    found = findings(done.outputs[0])
    assert done.exit_code == 0 and "on host0, host1; coordinator 10." in found["processes"]["value"]
    hop = json.loads(done.outputs[0])["processes"][0]["hop"]
    assert hop["latency"] > 0.005 and hop["bandwidth"] < 12.5e6  # no faster than the cable: 5 ms, 100 Mbit/s
