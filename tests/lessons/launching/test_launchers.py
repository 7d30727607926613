"""Five programs of chapter 10, unchanged, under the real launchers; Slurm's own ways: test_under_slurm.py."""

import json
from pathlib import Path

import pytest
from seldom import rarely

from minipod import hosts
from publish.recorders import launchers, slurm
from publish.recorders.record_launchers import HERE, PROGRAMS

CH10 = HERE.parent / "ch10_processes"
# The reason why a launcher cannot be tried on this machine.
NEEDS = {"Slurm, one host": slurm.why_not, "Slurm, two hosts": slurm.why_not, "Open MPI 4": launchers.why_no_mpirun_4}
NEEDS |= {"GKE's variables": hosts.why_not, "by hand": hosts.why_not}
OFTEN = ("hello", "psum_shard_map")
SOME = [*OFTEN, *rarely(*(name for name in PROGRAMS if name not in OFTEN))]
RECORDED = json.loads((HERE / "launched.json").read_text("utf-8"))

# What two processes with four devices each print: a sum of ones is the number of devices; 0 + … + 7 is 28.
NOBODY_HAS_ALL = (
    "RuntimeError: Fetching value for `jax.Array` that spans non-addressable (non\n"
    "process local) devices is not possible.\n"
)
ALL = "all:  [0, 1, 2, 3, 2048, 2049, 2050, 2051]\n"
PRINTED = {
    "hello": [
        f"I am process 0 of 2\nmine: [0, 1, 2, 3]\n{ALL}",
        f"I am process 1 of 2\nmine: [2048, 2049, 2050, 2051]\n{ALL}",
    ],
    "all_sum": ["total 8.0\n", ""],
    "psum_pmap": ["shape (4,) with [8.0, 8.0, 8.0, 8.0]\n"] * 2,
    "psum_shard_map": [
        f"I brought {mine} to an array of shape (8,)\nthe total is 28.0\n"
        for mine in ("[0. 1. 2. 3.]", "[4. 5. 6. 7.]")
    ],
    "print_global": [
        f"{NOBODY_HAS_ALL}mine: [{i}, {i}, {i}, {i}]\nall:  [0. 0. 0. 0. 1. 1. 1. 1.]\n" for i in (0.0, 1.0)
    ],
}


def printed(name: str, program: str, request: pytest.FixtureRequest) -> list[str]:
    """What a program of chapter 10 prints under a launcher."""
    if reason := NEEDS.get(name, lambda: None)():
        pytest.skip(reason)
    prefix = request.getfixturevalue("open_mpi_5") if name == "Open MPI 5" else Path()
    request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
    return launchers.launchers(prefix)[name](str(CH10 / f"{program}.py")).outputs


def test_a_program_runs_unchanged_under_mpirun(request):
    assert printed("Open MPI 4", "hello", request) == PRINTED["hello"]


@pytest.mark.long
@pytest.mark.parametrize("program", SOME)
@pytest.mark.parametrize("name", RECORDED["programs"])
def test_every_program_prints_the_same_under_every_launcher(name: str, program: str, request):
    assert printed(name, program, request) == PRINTED[program]


def test_what_is_recorded_is_what_was_printed():
    found = {name: {p: r["outputs"] for p, r in runs.items()} for name, runs in RECORDED["programs"].items()}
    assert found == dict.fromkeys(found, PRINTED)
