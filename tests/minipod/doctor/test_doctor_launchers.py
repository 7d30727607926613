"""`minipod doctor --cluster` is one command under every launcher."""

import json
from pathlib import Path

import pytest
from launchers import NO_MPI, NO_SLURM, PYTHON, clean, mpirun, srun

from minipod import hosts

DOCTOR = [PYTHON, "-m", "minipod", "doctor", "--cluster", "--json"]
needs_mpi = pytest.mark.skipif(NO_MPI is not None, reason=NO_MPI or "")
needs_slurm = pytest.mark.skipif(NO_SLURM is not None, reason=NO_SLURM or "")


def findings(text: str) -> dict[str, dict[str, str]]:
    """Process 0's, which alone prints to standard output."""
    (line,) = [line for line in text.splitlines() if line.startswith("{")]
    return {row["key"]: row for row in json.loads(line)["findings"]}


@needs_mpi
def test_under_mpirun_two_compute_and_one_reports(tmp_path: Path):
    done = mpirun(DOCTOR, cwd=tmp_path)
    found = findings(done.stdout)
    assert done.returncode == 0 and found["processes"]["value"].startswith("2 of Open MPI, on ")
    assert {found[key]["state"] for key in ("versions", "settings", "devices", "clocks", "hop")} == {"well"}


@pytest.mark.long
@needs_mpi
def test_under_mpirun_other_flags_and_devices_in_one_process_are_named(tmp_path: Path):
    counts = (["-x", f"XLA_FLAGS=--xla_force_host_platform_device_count={n}"] for n in (3, 5))
    done = mpirun(*([*count, *DOCTOR] for count in counts), cwd=tmp_path)
    found = findings(done.stdout)
    assert done.returncode == 1 and found["xla_flags"]["state"] == "fault"
    assert found["devices"]["value"].startswith("3 in process 0 (") and found["devices"]["state"] == "note"


@pytest.mark.long
@needs_mpi
def test_under_mpirun_a_process_that_never_comes_is_named_and_all_end(tmp_path: Path):
    done = mpirun([*DOCTOR, "--limit=6"], ["sleep", "300"], cwd=tmp_path)
    row = findings(done.stdout)["processes"]
    assert done.returncode == 1 and row["advice"].startswith("process 1 did not come within 6 s")


@pytest.mark.long
@needs_slurm
def test_under_srun_two_compute_and_one_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    done = srun(*DOCTOR)
    found = findings(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["processes"]["value"].startswith("2 of Slurm, on host0; coordinator node0:")
    assert {found[key]["state"] for key in ("versions", "settings", "devices", "clocks", "hop")} == {"well"}


@pytest.mark.long
@needs_mpi
def test_under_mpirun_each_doctor_says_which_process_it_is(tmp_path: Path):
    done = mpirun([PYTHON, "-m", "minipod", "doctor"], cwd=tmp_path, env=clean(PYTHONIOENCODING="ascii"))
    assert done.returncode == 0, done.stdout + done.stderr
    for number in "01":
        assert f"+ Launcher     Open MPI: process {number} of 2, local device {number}, coordinator" in done.stdout


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
