"""README's lines for a cluster, word for word, in a fresh copy, on a Slurm of two hosts."""

import os
import re
import sys
from pathlib import Path

import projects
import pytest
import slurm

pytestmark = [pytest.mark.long, pytest.mark.skipif(slurm.why_not() is not None, reason=str(slurm.why_not()))]
# What a line prints, by its beginning, and its exit code: nothing is solved there, and no machine of CI has devices.
WANTED = {
    "sbatch lessons/ch14_launching/two_processes.sbatch": (0, "Submitted batch job"),
    "srun --nodes=2 --ntasks-per-node=1 -K1 python -m minipod start": (0, r"process [01] of 2(.|\n)*process [01] of 2"),
    "srun --nodes=2 --ntasks-per-node=1 minipod doctor --cluster": (
        0,
        r"2 of Slurm, on host0, host1(.|\n)*Nothing is wrong",
    ),
    "srun --nodes=2 --ntasks-per-node=1 pytest lessons/ch10_processes": (1, "0 of the 4 checked here solved"),
    "pytest lessons/ --device real": (4, "JAX finds one CPU device here and nothing else"),
}


def commands_of(readme: Path) -> list[str]:
    """The lines of its block for clusters, without what is said of them."""
    blocks = re.findall(r"```shell\n(.*?)```", readme.read_text("utf-8"), re.DOTALL)
    lines = next(block for block in blocks if "sbatch" in block).strip().split("\n")
    return [line.partition("#")[0].strip() for line in lines]


def test_each_line_works_on_two_hosts(tmp_path, monkeypatch):
    clone = projects.copy(tmp_path / "clone")
    monkeypatch.chdir(clone)
    activate, *commands = commands_of(clone / "README.md")
    assert (activate, len(commands)) == (". .venv/bin/activate", len(WANTED))
    assert commands_of(clone / "README.zh-Hans.md") == [activate, *commands]
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin:/usr/sbin:/sbin"
    env = {"HOME": os.environ["HOME"], "LANG": "C.UTF-8", "PATH": path}
    with slurm.cluster(hosts=2) as cluster:
        for command, (beginning, (code, wanted)) in zip(commands, WANTED.items(), strict=True):
            assert command.startswith(beginning)
            done = cluster.run(*command.split(), env=env, limit=300)
            said = done.stdout + done.stderr
            assert (done.returncode, bool(re.search(wanted, said))) == (code, True), f"{command}\n{said}"
            if job := re.search(r"Submitted batch job (\d+)", said):
                assert cluster.wait(int(job[1]))["JobState"] == "COMPLETED"
                log = Path(f"two-processes-{job[1]}.log").read_text()
                assert [f"{i}: I am process {i} of 2" in log for i in (0, 1)] == [True, True], log
